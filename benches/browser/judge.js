// Put before the scripts of a task: it sees what they listen on, and says which of that a list of
// selectors leaves out.
(() => {
  const CLICKS = ['click', 'dblclick', 'mousedown', 'mouseup', 'pointerdown', 'pointerup', 'touchstart',
    'touchend'];
  const heard = new Map();
  const keep = (element, what, is) => {
    if (!heard.has(element)) heard.set(element, new Set());
    if (is) heard.get(element).add(what);
    else heard.get(element).delete(what);
  };
  const { addEventListener, removeEventListener } = EventTarget.prototype;
  EventTarget.prototype.addEventListener = function add(type, listener, ...rest) {
    if (listener && CLICKS.includes(type) && this instanceof Element) keep(this, listener, true);
    return addEventListener.call(this, type, listener, ...rest);
  };
  EventTarget.prototype.removeEventListener = function remove(type, listener, ...rest) {
    if (heard.has(this)) keep(this, listener, false);
    return removeEventListener.call(this, type, listener, ...rest);
  };
  for (const type of CLICKS) {
    for (const { prototype } of [HTMLElement, SVGElement]) {
      const own = Object.getOwnPropertyDescriptor(prototype, `on${type}`);
      Object.defineProperty(prototype, `on${type}`, {
        ...own,
        set(listener) {
          keep(this, type, typeof listener === 'function');
          own.set.call(this, listener);
        },
      });
    }
  }
  const isShown = (element) => {
    const box = element.getBoundingClientRect();
    const isThere = element instanceof SVGElement ? box.width + box.height : box.width * box.height;
    return isThere > 0 && element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };
  const judge = async () => {
    const listed = await (await fetch(`/listed${location.pathname}`)).json();
    const found = new Set();
    const unclear = [];
    const query = (selector) => {
      try { return document.querySelectorAll(selector); } catch { return []; }
    };
    for (const selector of listed) {
      const all = query(selector);
      if (all.length === 1) found.add(all[0]);
      else unclear.push(selector);
    }
    const usable = document.querySelectorAll('input:not([type=hidden]),button,select,textarea,a[href],'
      + '[contenteditable=""],[contenteditable=true],[onclick]');
    const listening = [...heard].filter(([, listeners]) => listeners.size > 0).map(([it]) => it);
    const all = [...new Set([...usable, ...listening])].filter((it) => document.body.contains(it)
      && it !== document.body && isShown(it));
    const missing = all.filter((it) => !found.has(it)).map((it) => it.outerHTML.slice(0, 90));
    fetch(`/verdict${location.pathname}`, {
      method: 'POST',
      body: JSON.stringify({ controls: all.length, missing, unclear }),
    });
  };
  addEventListener('load', () => {
    core.EPISODE_MAX_TIME = 3600000;
    judge();
  });
})();
