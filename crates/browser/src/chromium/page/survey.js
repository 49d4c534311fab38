// Finds what there is to report on a page, in one traversal.

// The list that an element belongs to by its name alone.
const LIST_OF = new Map([
  ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((it) => [it, 'headings']),
  ...['button', 'select', 'textarea', 'summary', 'input', 'area', 'video', 'audio', 'label']
    .map((it) => [it, 'controls']),
  ['a', 'links'], ['form', 'forms'], ['table', 'tables'], ['iframe', 'frames'], ['frame', 'frames'],
]);
// Elements that may belong to a list because of their attributes.
const MARKED = '[role],[onclick],[contenteditable],[tabindex],[aria-invalid],[aria-live=assertive],'
  + '[class*=error-summary],[class*=errorsummary i],.field-error,.form-error,.error-message,'
  + '.invalid-feedback';
const CONTROL = [
  'button', 'input:not([type=hidden i])', 'select', 'textarea', 'summary', '[onclick]',
  '[contenteditable]:not([contenteditable=false])', '[tabindex]:not([tabindex="-1"])',
  'a[role]:not([role=link])', 'area[href]', 'video[controls]', 'audio[controls]', 'label[for]',
  ...['button', 'checkbox', 'radio', 'switch', 'tab', 'menuitem', 'menuitemcheckbox', 'option',
    'menuitemradio', 'combobox', 'textbox', 'searchbox', 'slider', 'spinbutton', 'treeitem',
  ].map((role) => `[role=${role}]`),
].join(',');
const MESSAGE = '[role=alert],[aria-live=assertive],[class*=error-summary],'
  + '[class*=errorsummary i],.field-error,.form-error,.error-message,.invalid-feedback';
const CAN_HOST = new Set([
  'article', 'aside', 'blockquote', 'body', 'div', 'footer', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6',
  'header', 'main', 'nav', 'p', 'section', 'span',
]);

const inView = (box) =>
  box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;

// Everything in the page and its shadow roots that there is to report, within the limits, and
// elements that may have a closed root.
const explore = async (scope, limits, pause) => {
  const lists = {
    headings: [], forms: [], links: [], tables: [], controls: [], messages: [], invalid: [], frames: [],
  };
  const found = { elements: 0, roots: [], suspects: [], truncated: null, lists };
  const pending = [scope];
  if (isElement(scope)) sort(scope, tagOf(scope), true, lists);
  while (pending.length > 0 && !found.truncated) {
    const root = pending.shift();
    found.roots.push(root);
    const marked = new Set(query(root, MARKED));
    const all = query(root, '*');
    for (let at = 0, count = all.length; at < count; at += 1) {
      found.elements += 1;
      if (found.elements % 2048 === 0) {
        await pause();
        if (performance.now() >= limits.until) found.truncated = 'time';
      }
      if (found.elements >= limits.nodes) found.truncated = 'nodes';
      if (found.truncated) break;
      const element = all[at];
      const tag = tagOf(element);
      const isMarked = marked.size > 0 && marked.has(element);
      if (isMarked || LIST_OF.has(tag)) sort(element, tag, isMarked, lists);
      const isOwn = tag.includes('-');
      if (!isOwn && !CAN_HOST.has(tag)) continue;
      const shadow = shadowOf(element);
      if (shadow) {
        guard(shadow);
        pending.push(shadow);
      } else if (isOwn) {
        found.suspects.unshift(element);
      } else if (found.suspects.length < 256 && isHollow(element)) {
        found.suspects.push(element);
      }
    }
  }
  return found;
};
// Adds an element to the lists that it belongs to.
const sort = (element, tag, isMarked, lists) => {
  const role = isMarked ? attribute(element, 'role') : null;
  const list = LIST_OF.get(tag);
  if (list === 'headings' || role === 'heading') lists.headings.push(element);
  else if (list === 'forms' || list === 'frames') lists[list].push(element);
  else if (list === 'links' && hasAttribute(element, 'href')) lists.links.push(element);
  else if (list === 'tables' && role !== 'presentation' && role !== 'none') lists.tables.push(element);
  if ((list === 'controls' || isMarked) && matches(element, CONTROL)
    && !(tag === 'label' && labelled(element))) lists.controls.push(element);
  if (!isMarked) return;
  if (matches(element, MESSAGE)) lists.messages.push(element);
  const invalid = attribute(element, 'aria-invalid');
  if (invalid !== null && invalid !== 'false') lists.invalid.push(element);
};
// Elements that were checked for a closed root and had none, with their size then: an element that
// gets one later usually changes its size.
const asked = new WeakMap();
// Drawn although it has no text and no drawn children: a closed shadow root may be what is drawn.
const isHollow = (element) => {
  const first = firstChildOf(element);
  if (first && /\S/.test((isElement(first) ? textOf(element) : first.data).slice(0, 200))) return false;
  const child = first && firstOfElement(element);
  if (child && (/\S/.test(textOf(element).slice(0, 200)) || boxesOf(child).length > 0)) return false;
  const size = sizeOf(element);
  return size !== null && asked.get(element) !== size;
};
const sizeOf = (element) => {
  const [width, height] = [widthOf(element), heightOf(element)];
  if (width > 0 && height > 0) return `${width} ${height}`;
  const box = boxOf(element);
  return box.width > 0 && box.height > 0 ? `${box.width} ${box.height}` : null;
};
const suspected = (element) => {
  if (!tagOf(element).includes('-')) asked.set(element, sizeOf(element));
  return numberOf(element);
};
// A label whose field is shown is reported with its field.
const labelled = (label) => {
  const field = label.control;
  return Boolean(field) && isVisible(field);
};

// Lets the page run from time to time.
const pauses = () => {
  let rested = performance.now();
  return async () => {
    if (performance.now() - rested < 12) return;
    await new Promise((done) => { setTimeout(done, 0); });
    rested = performance.now();
  };
};

// Surveys that were not read yet; two may be in progress at once.
const surveys = new Map();
// Elements that the last survey of the whole page found.
let met = new WeakSet();
// The elements for each list. The engine then decides how many of them to read.
const survey = async (options) => {
  const limits = { ...options, until: performance.now() + options.milliseconds };
  const scope = options.scope === null ? document : nodeOf(options.scope);
  if (scope === null) return { stale: true };
  const seen = await explore(scope, limits, pauses());
  const { frames, ...lists } = seen.lists;
  lists.controls.push(...clickable(scope, new Set([...lists.controls, ...lists.links]), limits));
  if (options.viewport) {
    for (const [name, found] of Object.entries(lists)) {
      lists[name] = found.filter((it) => inView(boxOf(it)));
    }
  }
  const key = String(Math.random());
  if (surveys.size > 3) surveys.clear();
  surveys.set(key, { roots: seen.roots, lists, before: met });
  if (scope === document) met = new WeakSet(Object.values(lists).flat());
  return {
    key,
    counts: Object.fromEntries(Object.entries(lists).map(([name, found]) => [name, found.length])),
    title: document.title.slice(0, 500),
    truncated: seen.truncated,
    frames: frames.filter(isVisible).slice(0, 64).map((it) => ({ number: numberOf(it), selector: selectorOf(it) })),
    suspects: seen.suspects.slice(0, 96).map(suspected),
  };
};
