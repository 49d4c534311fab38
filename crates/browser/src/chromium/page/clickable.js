// What only scripts make something that can be used: what listens for clicks itself, and what has the
// pointer of a hand where something around it listens.

const SKIPPED = new Set(['script', 'style', 'template', 'head', 'meta', 'link', 'title', 'option']);
const USED = 'a[href],button,input,select,textarea,summary,label,option';

// What listens, as the engine has told: its number there, and the node.
const heard = new Map();
const hear = (numbers, ...nodes) => {
  numbers.forEach((number, at) => heard.set(number, new WeakRef(nodes[at])));
};
const listenersOf = ({ nodes, everywhere }) => {
  const found = nodes.map((it) => heard.get(it)?.deref()).filter((it) => it && isConnected(it));
  return everywhere ? [...found, document] : found;
};

// Elements with the pointer of a hand inside of what listens; the outermost of each.
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
      // A hall with such a pointer says nothing of what is inside.
      if (!closest(element, USED) && !isHall(element, known)) found.push(element);
    }
  }
  return found;
};

// What is so wide that it listens for what is inside, rather than for itself.
const isHall = (element, known) => {
  if (element === document.body || element === document.documentElement) return true;
  const box = boxOf(element);
  if (box.width * box.height < (innerWidth * innerHeight) / 2) return false;
  return Array.from(query(element, '*')).some((it) => known.has(it));
};
// All of it inside `scope`, but for what is known anyway, in the page's order.
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
