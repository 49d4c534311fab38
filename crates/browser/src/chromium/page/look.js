// Small queries that are made often.

const title = () => document.title.slice(0, 500);
const knows = (number) => nodeOf(number) !== null;
const shows = (number) => {
  const element = nodeOf(number);
  return element !== null && isVisible(element);
};
const hasText = (text) => (document.body?.innerText ?? '').includes(text);

const LOGOUT = /^(log ?out|sign ?out|log ?off|abmelden|ausloggen|cerrar sesión|se déconnecter|déconnexion|sair|esci|uitloggen|logga ut|выйти|ログアウト|退出登录|登出)$/i;
// Evidence of whether someone is logged in, without any of what they typed.
const evidence = () => {
  // It may well be in a closed menu.
  const found = query(document, 'a[href],button,input[type=submit],[role=button],[role=menuitem]');
  const controls = Array.from({ length: Math.min(found.length, 500) }, (_, at) => found[at]);
  const leaves = (it) => LOGOUT.test(squeeze(it.value || textOf(it).slice(0, 60)))
    || /(^|[/?=_-])(log|sign)[_-]?(out|off)\b/i.test(attribute(it, 'href') ?? '');
  const fields = Array.from(query(document, 'input'));
  const revealed = fields.some((it) => secrets.has(it) && typeOf(it) !== 'password' && it.value
    && isVisible(it));
  const active = deepActive();
  return {
    ready: document.readyState !== 'loading',
    passwordFields: fields.filter((it) => (typeOf(it) === 'password' || secrets.has(it)) && isVisible(it)).length,
    logout: controls.some(leaves),
    secretFocused: Boolean(active) && isField(active) && isSecret(active),
    secretRevealed: revealed,
  };
};

// The element at a point, for a person's click.
const hit = (x, y) => {
  const found = deepest(x, y);
  if (!found) return { nothing: true };
  const isFrame = found instanceof HTMLIFrameElement || found instanceof HTMLFrameElement;
  if (isFrame) {
    const box = boxOf(found);
    const style = getComputedStyle(found);
    return {
      frame: numberOf(found),
      x: x - box.left - found.clientLeft - parseFloat(style.paddingLeft),
      y: y - box.top - found.clientTop - parseFloat(style.paddingTop),
    };
  }
  const target = closest(found, 'a,button,input,select,textarea,label,summary,[role],[onclick]') ?? found;
  return { element: brief(target), secret: isField(target) && isSecret(target) };
};
const focused = () => {
  const active = deepActive();
  if (!active || active === document.body) return { nothing: true };
  const isFrame = active instanceof HTMLIFrameElement || active instanceof HTMLFrameElement;
  if (isFrame) return { frame: numberOf(active) };
  return { element: brief(active), secret: isField(active) && isSecret(active) };
};
const selectorOfNumber = (number) => {
  places = new WeakMap();
  const node = nodeOf(number);
  return node ? selectorOf(node) : null;
};

// Those of these elements that exist and are visible.
const present = (numbers) => numbers.filter((number) => {
  const node = nodeOf(number);
  return node !== null && isVisible(node);
});

// A result in the form that the engine accepts. Half of a surrogate pair is not a letter, and not
// valid JSON either.
const told = (answer = null) => {
  const text = JSON.stringify(answer);
  if (!/\\ud[89a-f]/i.test(text)) return text;
  return JSON.stringify(answer, (_, it) => (typeof it === 'string' ? it.toWellFormed() : it));
};

globalThis.waypost = {
  told,
  nodeOf, adopt, hear, find, survey, read, point, through, prepare, focus, choose, scroll, scrollTo, title, knows, shows, hasText,
  evidence, hit, focused, selectorOf: selectorOfNumber, present,
  numberOf,
};
