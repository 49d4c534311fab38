// Finds the position to click, and what covers it.

const brief = (element) => {
  places = new WeakMap();
  return {
    tag: tagOf(element),
    id: attribute(element, 'id') ?? '',
    class: (attribute(element, 'class') ?? '').slice(0, 200),
    text: isField(element) || element.isContentEditable ? '' : cut(nameOf(element, 60), 60),
    selector: selectorOf(element) ?? '',
  };
};
const deepest = (x, y) => {
  let found = documentFromPoint(document, x, y);
  for (let shadow = found && shadowOf(found); shadow;) {
    const inner = rootFromPoint(shadow, x, y);
    if (!inner || inner === found) break;
    found = inner;
    shadow = shadowOf(found);
  }
  return found;
};
// Whether `inner` is `outer` or inside it, shadow roots included.
const isWithin = (inner, outer) => {
  for (let at = inner; at; at = rootOf(at).host ?? null) {
    if (contains(outer, at)) return true;
  }
  return false;
};
const reaches = (hit, target) => {
  if (isWithin(hit, target)) return true;
  const label = closest(hit, 'label');
  return Boolean(label) && label.control === target;
};

// Scrolls an element into view and returns where it can be clicked: `{x, y}`, or what is wrong.
const point = (number) => {
  const element = nodeOf(number);
  if (element === null) return { stale: true };
  if (matches(element, ':disabled') || closest(element, '[aria-disabled=true]')) {
    return { wrong: 'disabled', subject: brief(element) };
  }
  const outside = (box) =>
    box.top < 0 || box.left < 0 || box.bottom > innerHeight || box.right > innerWidth;
  if (outside(boxOf(element))) {
    element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
  }
  let target = element;
  if (!isVisible(element)) {
    const label = Array.from(element.labels ?? []).find(isVisible);
    if (!label) return { wrong: 'hidden', subject: brief(element) };
    target = label;
  }
  let cover = null;
  const boxes = Array.from(boxesOf(target)).filter((it) => it.width > 0 && it.height > 0);
  for (const box of boxes.length > 0 ? boxes.slice(0, 8) : [boxOf(target)]) {
    const left = Math.max(box.left, 0);
    const top = Math.max(box.top, 0);
    const width = Math.min(box.right, innerWidth) - left;
    const height = Math.min(box.bottom, innerHeight) - top;
    if (width <= 0 || height <= 0) continue;
    for (const [across, down] of [[0.5, 0.5], [0.2, 0.5], [0.8, 0.5], [0.5, 0.2], [0.5, 0.8]]) {
      const [x, y] = [left + width * across, top + height * down];
      const hit = deepest(x, y);
      if (hit && (reaches(hit, element) || isWithin(hit, target))) {
        return { x, y, element: brief(element) };
      }
      cover ??= hit;
    }
  }
  return cover ? { wrong: 'covered', subject: brief(cover), element: brief(element) } : { wrong: 'hidden', subject: brief(element) };
};
// The origin of a frame's content, and whether a click at (x, y) inside it reaches this frame.
const through = (number, x, y) => {
  const frame = nodeOf(number);
  if (frame === null) return { stale: true };
  let box = boxOf(frame);
  if (box.top < 0 || box.left < 0 || box.bottom > innerHeight || box.right > innerWidth) {
    frame.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    box = boxOf(frame);
  }
  const style = getComputedStyle(frame);
  const at = {
    x: box.left + frame.clientLeft + parseFloat(style.paddingLeft) + x,
    y: box.top + frame.clientTop + parseFloat(style.paddingTop) + y,
  };
  const hit = deepest(at.x, at.y);
  return hit === frame ? at : { wrong: 'covered', subject: hit ? brief(hit) : { tag: 'nothing' } };
};

const deepActive = () => {
  let active = activeOfDocument(document);
  for (let shadow = active && shadowOf(active); shadow; shadow = active && shadowOf(active)) {
    const inner = activeOfRoot(shadow);
    if (!inner) break;
    active = inner;
  }
  return active;
};
const announce = (element) => {
  element.dispatchEvent(new InputEvent('input', { bubbles: true, composed: true }));
  element.dispatchEvent(new Event('change', { bubbles: true }));
};
const VALUED = new Set(['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range']);
const valueOfInput = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');

// Prepares a field for typing: returns it, with `done` if its value is set at once, or what is
// wrong.
const prepare = (number, text, append) => {
  const element = nodeOf(number);
  if (element === null) return { stale: true };
  const tag = tagOf(element);
  const type = tag === 'input' ? typeOf(element) : tag;
  if (!isField(element) && !element.isContentEditable) return { wrong: 'unfit', subject: brief(element) };
  if (PLAIN_TYPES.has(type)) return { wrong: 'unfit', subject: brief(element) };
  if (matches(element, ':disabled') || closest(element, '[aria-disabled=true]')) {
    return { wrong: 'disabled', subject: brief(element) };
  }
  if (element.readOnly === true) return { wrong: 'readOnly', subject: brief(element) };
  if (!isShown(element)) return { wrong: 'hidden', subject: brief(element) };
  element.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
  element.focus({ preventScroll: true });
  const active = deepActive();
  if (active !== element && !isWithin(active, element)) return { wrong: 'unfocused', subject: brief(element) };
  if (VALUED.has(type)) {
    valueOfInput.set.call(element, text);
    if (element.value !== text && type !== 'range') return { wrong: 'refused', subject: brief(element) };
    announce(element);
    return { element: brief(element), done: true };
  }
  if (isField(element)) {
    const end = element.value.length;
    if (append) {
      try { element.setSelectionRange(end, end); } catch { /* some types have no selection */ }
    } else element.select();
  } else {
    const range = document.createRange();
    range.selectNodeContents(element);
    if (append) range.collapse(false);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  }
  return { element: brief(element), filled: isField(element) && element.value !== '' };
};
const focus = (number) => {
  const element = nodeOf(number);
  if (element === null) return { stale: true };
  element.focus();
  return { element: brief(element) };
};
const choose = (number, wanted) => {
  const element = nodeOf(number);
  if (element === null) return { stale: true };
  if (!(element instanceof HTMLSelectElement)) return { wrong: 'unfit', subject: brief(element) };
  if (matches(element, ':disabled')) return { wrong: 'disabled', subject: brief(element) };
  const options = Array.from(element.options);
  const chosen = wanted.map((it) => options.find((option) => option.value === it)
    ?? options.find((option) => squeeze(option.label) === squeeze(it)));
  const missing = wanted.find((it, at) => chosen[at] === undefined || chosen[at].disabled);
  if (missing !== undefined || (wanted.length > 1 && !element.multiple)) {
    return { missing: missing ?? null, options: options.slice(0, 20).map((it) => cut(it.label, 40)) };
  }
  for (const option of options) option.selected = chosen.includes(option);
  announce(element);
  return { chosen: chosen.map((it) => cut(it.label, 60)), element: brief(element) };
};
const scrolled = () => {
  const page = document.scrollingElement ?? document.documentElement;
  return {
    x: Math.round(scrollX),
    y: Math.round(scrollY),
    xMax: Math.max(0, page.scrollWidth - innerWidth),
    yMax: Math.max(0, page.scrollHeight - innerHeight),
  };
};
// Scrolls what a person would scroll: the page, or the scrollable element in its middle.
const scroll = (direction, share) => {
  const vertical = !['left', 'right'].includes(direction);
  let box = document.scrollingElement ?? document.documentElement;
  const room = (it) => (vertical ? it.scrollHeight - it.clientHeight : it.scrollWidth - it.clientWidth);
  if (room(box) <= 0) {
    for (let at = deepest(innerWidth / 2, innerHeight / 2); at; at = parentOf(at)) {
      const flow = getComputedStyle(at)[vertical ? 'overflowY' : 'overflowX'];
      if (room(at) > 0 && ['auto', 'scroll'].includes(flow)) {
        box = at;
        break;
      }
    }
  }
  const behavior = 'instant';
  const step = (vertical ? innerHeight : innerWidth) * share;
  const by = { up: [0, -step], down: [0, step], left: [-step, 0], right: [step, 0] }[direction];
  if (by) box.scrollBy({ left: by[0], top: by[1], behavior });
  else box.scrollTo({ top: direction === 'top' ? 0 : box.scrollHeight, behavior });
  return scrolled();
};
// `null` if the element is gone.
const scrollTo = (number) => {
  const element = nodeOf(number);
  if (element === null) return null;
  element.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
  return scrolled();
};
