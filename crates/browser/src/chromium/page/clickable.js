// Elements that only scripts make usable: those that listen for clicks themselves, and those with a
// hand pointer inside an element that listens.

const SKIPPED = new Set(['script', 'style', 'template', 'head', 'meta', 'link', 'title', 'option']);
const USED = 'a[href],button,input,select,textarea,summary,label,option';

// Nodes that listen, as reported by the engine: its number for a node, and the node.
const heard = new Map();
const hear = (numbers, ...nodes) => {
  numbers.forEach((number, at) => heard.set(number, new WeakRef(nodes[at])));
};
const listenersOf = ({ nodes, everywhere }) => {
  const found = nodes.map((it) => heard.get(it)?.deref()).filter((it) => it && isConnected(it));
  return everywhere ? [...found, document] : found;
};

// Elements with a hand pointer inside an element that listens; the outermost of each.
const pointed = (places, known, limits) => {
  const found = [];
  let looked = 0;
  for (const place of places) {
    let last = null;
    for (const element of query(place, '*')) {
      if (SKIPPED.has(tagOf(element)) || (last && contains(last, element))) continue;
      looked += 1;
      if (looked > limits.pointers) return found;
      if (getComputedStyle(element).cursor !== 'pointer') continue;
      last = element;
      // A container with such a pointer says nothing about its content.
      if (!closest(element, USED) && !isHall(element, known)) found.push(element);
    }
  }
  return found;
};

// An element so large that it listens for its content rather than for itself.
const isHall = (element, known) => {
  if (element === document.body || element === document.documentElement) return true;
  const box = boxOf(element);
  if (box.width * box.height < (innerWidth * innerHeight) / 2) return false;
  return Array.from(query(element, '*')).some((it) => known.has(it));
};
// All of them inside `scope`, except those that are known anyway, in page order.
const clickable = (scope, known, limits) => {
  const isInside = (it) => scope === document || isWithin(it, scope);
  const listening = listenersOf(limits.listening);
  const own = new Set(listening.filter((it) => isElement(it) && !SKIPPED.has(tagOf(it))
    && isInside(it) && !known.has(it) && !closest(it, USED) && !isHall(it, known)));
  const outermost = listening.filter((it) =>
    !listening.some((other) => other !== it && contains(other, it)));
  for (const it of pointed(outermost, known, limits)) {
    if (isInside(it) && !known.has(it)) own.add(it);
  }
  return [...own].sort((one, other) =>
    (placeBeside(one, other) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
};
