// Selectors: which element one denotes, and how to denote an element.

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

// The positions of elements among their siblings of the same kind, and the path to their parent;
// computed once for each parent within a call.
let places = new WeakMap();
const kindredOf = (parent) => {
  let known = places.get(parent);
  if (!known) {
    known = { place: new Map(), count: new Map(), way: null };
    for (let child = firstElementOf(parent); child; child = nextElementOf(child)) {
      const tag = tagOf(child);
      const place = (known.count.get(tag) ?? 0) + 1;
      known.count.set(tag, place);
      known.place.set(child, place);
    }
    places.set(parent, known);
  }
  return known;
};
const placeOf = (element) => {
  const parent = parentNodeOf(element);
  if (!parent) return { place: 1, only: true };
  const known = kindredOf(parent);
  return { place: known.place.get(element) ?? 1, only: known.count.get(tagOf(element)) === 1 };
};
const stepOf = (element) => {
  const { place, only } = placeOf(element);
  const tag = CSS.escape(tagOf(element));
  return only ? tag : `${tag}:nth-of-type(${place})`;
};

// How often each address, name and test id occurs in a root; counted once per reading, because a
// query for each one would search the whole page each time.
let tallies = null;
const TESTED = tests.map((it) => `[${it}]`).join(',');
const isOnlyWith = (root, name, value, selector) => {
  if (tallies === null) return isOnly(root, selector);
  let known = tallies.get(root);
  if (!known) {
    known = { href: new Map(), name: new Map(), test: new Map() };
    const count = (of, it) => of.set(it, (of.get(it) ?? 0) + 1);
    for (const link of query(root, 'a[href]')) count(known.href, attribute(link, 'href'));
    for (const field of query(root, 'input[name],textarea[name],select[name],button[name]')) {
      count(known.name, `${tagOf(field)} ${attribute(field, 'name')}`);
    }
    for (const tested of query(root, TESTED)) {
      for (const test of tests) count(known.test, `${test} ${attribute(tested, test)}`);
    }
    tallies.set(root, known);
  }
  return known[name].get(value) === 1;
};

const byId = (element, root) => {
  const id = attribute(element, 'id');
  const selector = id && id.length <= 80 ? `#${CSS.escape(id)}` : null;
  return selector && isOnly(root, selector) ? selector : null;
};
const byAttribute = (element, root) => {
  const tag = CSS.escape(tagOf(element));
  for (const test of tests) {
    const value = attribute(element, test);
    if (value === null) continue;
    const selector = `[${test}=${quoted(value)}]`;
    if (selector.length <= 120 && isOnlyWith(root, 'test', `${test} ${value}`, selector)) return selector;
  }
  const name = attribute(element, 'name');
  if (name && name.length <= 80 && (isField(element) || ['select', 'button'].includes(tag))) {
    const selector = `${tag}[name=${quoted(name)}]`;
    if (isOnlyWith(root, 'name', `${tag} ${name}`, selector)) return selector;
    const value = attribute(element, 'value');
    if (value && value.length <= 40 && ['radio', 'checkbox', 'submit'].includes(typeOf(element))) {
      const one = `${selector}[value=${quoted(value)}]`;
      if (isOnly(root, one)) return one;
    }
  }
  const href = tag === 'a' ? attribute(element, 'href') : null;
  if (href && href.length <= 60) {
    const selector = `a[href=${quoted(href)}]`;
    if (isOnlyWith(root, 'href', href, selector)) return selector;
  }
  return null;
};
// The path from the body, or from the nearest element with an id: each step is unique at its place,
// so the whole path is, without querying the page. Null if it is too long.
const wayTo = (parent, root, left) => {
  if (!isElement(parent) || left === 0) return null;
  const known = kindredOf(parent);
  if (known.way === null) {
    const anchor = parent === document.body ? 'body' : byId(parent, root);
    const before = anchor ?? wayTo(parentNodeOf(parent), root, left - 1);
    if (before === null) return null;
    known.way = anchor ?? `${before} > ${stepOf(parent)}`;
  }
  return known.way;
};
const byPath = (element, root) => {
  if (element === document.body) return 'body';
  const way = wayTo(parentNodeOf(element), root, 64);
  if (way !== null) return `${way} > ${stepOf(element)}`;
  const steps = [];
  for (let at = element; at && steps.length < 64; at = parentOf(at)) steps.unshift(stepOf(at));
  const path = steps.join(' > ');
  if (isOnly(root, path)) return path;
  const anchored = `:host > ${path}`;
  return root instanceof ShadowRoot && isOnly(root, anchored) ? anchored : null;
};

// A selector that finds only this element in its frame, with a hop for each shadow root; null if
// there is none.
const selectorOf = (element) => {
  const root = rootOf(element);
  const own = byId(element, root) ?? byAttribute(element, root) ?? byPath(element, root);
  if (own === null || !(root instanceof ShadowRoot)) return own;
  const host = selectorOf(root.host);
  return host === null ? null : `${host}${HOP}${own}`;
};

// The element that one step of a selector finds below `root`: the first visible one, or else the
// first.
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

// Follows the steps of a selector within this frame. `rest` is the number of steps that remain for
// the frame inside the element.
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
