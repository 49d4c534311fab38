// The names of elements, as a person would call them.

const BUTTONS = new Set(['submit', 'button', 'reset']);
const referred = (element, name) => {
  const root = rootOf(element);
  const ids = (attribute(element, name) ?? '').split(/\s+/).filter(Boolean).slice(0, 4);
  return ids.map((id) => textOf(query(root, `#${CSS.escape(id)}`)[0] ?? element)).join(' ');
};
const labelOf = (field) => {
  return labelsOf(field).slice(0, 3).map((label) => {
    const own = Array.from(label.childNodes).filter((it) => it !== field);
    return own.map((it) => (it instanceof HTMLSelectElement ? '' : textOf(it))).join(' ');
  }).join(' ');
};
const altOf = (element) => {
  const image = query(element, 'img[alt],svg[aria-label],[aria-label],svg title')[0];
  if (!image) return '';
  return attribute(image, 'alt') ?? attribute(image, 'aria-label') ?? textOf(image);
};
// The first non-empty one of these names.
const nameOf = (element, length) => {
  const isInput = element instanceof HTMLInputElement;
  const tries = [
    () => (hasAttribute(element, 'aria-labelledby') ? referred(element, 'aria-labelledby') : ''),
    () => attribute(element, 'aria-label'),
    () => (isInput && BUTTONS.has(typeOf(element)) ? element.value || typeOf(element) : ''),
    () => (isField(element) || element instanceof HTMLSelectElement ? labelOf(element) : ''),
    () => (isField(element) || element instanceof HTMLSelectElement ? '' : shownText(element, length)),
    () => attribute(element, 'placeholder'),
    () => attribute(element, 'alt') ?? altOf(element),
    () => attribute(element, 'title'),
    () => (isField(element) || element instanceof HTMLSelectElement ? attribute(element, 'name') : ''),
    () => attribute(element, 'id'),
  ];
  for (const attempt of tries) {
    const name = cut(attempt(), length);
    if (name) return name;
  }
  return '';
};

const LEFT_OUT = new Set([
  'script', 'style', 'noscript', 'template', 'head', 'title', 'iframe', 'frame', 'object', 'embed',
  'textarea', 'select', 'canvas', 'audio', 'video', 'datalist',
]);
// The visible text of an element, up to about `length` characters.
const shownText = (element, length) => {
  let text = '';
  const walk = (node, depth) => {
    for (let child = node.firstChild; child && text.length < length * 2; child = child.nextSibling) {
      if (child.nodeType === Node.TEXT_NODE) {
        text += child.data.slice(0, length * 4);
      } else if (isElement(child) && depth < 32 && !LEFT_OUT.has(tagOf(child))) {
        const { display } = getComputedStyle(child);
        const edge = display.startsWith('inline') ? '' : ' ';
        text += edge;
        if (isShown(child) || display === 'contents') walk(child, depth + 1);
        text += edge;
      }
    }
  };
  walk(shadowOf(element) ?? element, 0);
  return text;
};
