// Selectors: which element is meant, and how to say which one was.

const HOP = ' >>> ';
const tests = ['data-testid', 'data-test', 'data-test-id', 'data-qa', 'data-cy'];
const quoted = (text) => `"${text.replace(/["\\]/g, '\\$&').replace(/\n/g, '\\a ')}"`;
const isOnly = (root, selector) => {
  try {
    return query(root, selector).length === 1;
  } catch {
    return false;
  }
};

// Where an element stands among its siblings of the same kind; counted once for each parent, as
// long as one call lasts.
let places = new WeakMap();
const placeOf = (element) => {
  const parent = element.parentNode;
  if (!parent) return { place: 1, only: true };
  let known = places.get(parent);
  if (!known) {
    known = { place: new Map(), count: new Map() };
    for (const child of Array.from(parent.children ?? [])) {
      const place = (known.count.get(tagOf(child)) ?? 0) + 1;
      known.count.set(tagOf(child), place);
      known.place.set(child, place);
    }
    places.set(parent, known);
  }
  return { place: known.place.get(element) ?? 1, only: known.count.get(tagOf(element)) === 1 };
};

const byId = (element, root) => {
  const id = attribute(element, 'id');
  const selector = id && id.length <= 80 ? `#${CSS.escape(id)}` : null;
  return selector && isOnly(root, selector) ? selector : null;
};
const byAttribute = (element, root) => {
  const tag = CSS.escape(tagOf(element));
  const candidates = [];
  for (const name of tests) {
    if (hasAttribute(element, name)) candidates.push(`[${name}=${quoted(attribute(element, name))}]`);
  }
  const name = attribute(element, 'name');
  if (name && (isField(element) || ['select', 'button'].includes(tag))) {
    candidates.push(`${tag}[name=${quoted(name)}]`);
    const value = attribute(element, 'value');
    if (value && value.length <= 40 && ['radio', 'checkbox', 'submit'].includes(typeOf(element))) {
      candidates.push(`${tag}[name=${quoted(name)}][value=${quoted(value)}]`);
    }
  }
  const href = tag === 'a' ? attribute(element, 'href') : null;
  if (href && href.length <= 60) candidates.push(`a[href=${quoted(href)}]`);
  return candidates.find((it) => it.length <= 120 && isOnly(root, it)) ?? null;
};
const byPath = (element, root) => {
  const steps = [];
  for (let at = element; at && steps.length < 64; at = parentOf(at)) {
    const anchor = at === element ? null : byId(at, root);
    if (anchor) {
      steps.unshift(anchor);
      break;
    }
    const { place, only } = placeOf(at);
    const tag = CSS.escape(tagOf(at));
    steps.unshift(only ? tag : `${tag}:nth-of-type(${place})`);
    if (steps.length === 3 && isOnly(root, steps.join(' > '))) break;
  }
  const path = steps.join(' > ');
  if (isOnly(root, path)) return path;
  const anchored = `:host > ${path}`;
  return root instanceof ShadowRoot && isOnly(root, anchored) ? anchored : null;
};

// A selector that finds this element alone in its frame, with a hop for each shadow root; null if
// there is none.
const selectorOf = (element) => {
  const root = rootOf(element);
  const own = byId(element, root) ?? byAttribute(element, root) ?? byPath(element, root);
  if (own === null || !(root instanceof ShadowRoot)) return own;
  const host = selectorOf(root.host);
  return host === null ? null : `${host}${HOP}${own}`;
};

// The element that one step of a selector means, below `root`: the first that is visible, or else
// the first.
const pick = (root, selector) => {
  let found;
  try {
    found = query(root, selector);
  } catch (error) {
    return { invalid: String(error.message).slice(0, 200) };
  }
  let first = null;
  for (let at = 0; at < found.length && at < 1000; at += 1) {
    if (isVisible(found[at])) {
      first = found[at];
      break;
    }
  }
  return { element: first ?? found[0] ?? null, count: found.length };
};

// Follows the steps of a selector as far as this frame goes. `rest` counts the steps that are left
// for the frame inside the element.
const find = (steps) => {
  let root = document;
  for (let at = 0; at < steps.length; at += 1) {
    const found = pick(root, steps[at]);
    if (found.invalid) return { invalid: found.invalid, step: steps[at] };
    if (!found.element) return { count: 0, step: steps[at] };
    const rest = steps.length - at - 1;
    const shadow = shadowOf(found.element);
    const isFrame = found.element instanceof HTMLIFrameElement
      || found.element instanceof HTMLFrameElement;
    if (rest === 0 || isFrame) {
      return { number: numberOf(found.element), count: found.count, rest };
    }
    if (!shadow) return { closed: numberOf(found.element), step: steps[at] };
    root = shadow;
  }
  return { count: 0 };
};
