// What is on the page, as data, within hard limits.

const CONTROLS = [
  'button', 'input:not([type=hidden i])', 'select', 'textarea', 'summary', '[onclick]',
  '[contenteditable]:not([contenteditable=false])', '[tabindex]:not([tabindex="-1"])',
  'a[role]:not([role=link])', 'area[href]', 'video[controls]', 'audio[controls]', 'label[for]',
  ...['button', 'checkbox', 'radio', 'switch', 'tab', 'menuitem', 'menuitemcheckbox', 'option',
    'menuitemradio', 'combobox', 'textbox', 'searchbox', 'slider', 'spinbutton', 'treeitem',
  ].map((role) => `[role=${role}]`),
].join(',');
const MESSAGES = '[role=alert],[aria-live=assertive],.error-summary,[class*=error-summary],'
  + '[class*=errorsummary i],.field-error,.form-error,.error-message,.invalid-feedback';
const CAN_HOST = new Set([
  'article', 'aside', 'blockquote', 'body', 'div', 'footer', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6',
  'header', 'main', 'nav', 'p', 'section', 'span',
]);
const SKIPPED = new Set(['script', 'style', 'template', 'head', 'meta', 'link', 'title', 'option']);

const inView = (box) =>
  box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;

// Every element of the page and of its shadow roots in order, as far as the limits go.
const survey = async (scope, limits, pause) => {
  const found = { elements: 0, roots: [], suspects: [], clickable: [], truncated: null };
  const pending = [scope];
  while (pending.length > 0 && !found.truncated) {
    const root = pending.shift();
    found.roots.push(root);
    let pointed = null;
    const all = query(root, '*');
    for (let at = 0; at < all.length; at += 1) {
      found.elements += 1;
      if (found.elements % 2048 === 0) await pause();
      if (found.elements >= limits.nodes) found.truncated = 'nodes';
      if (performance.now() >= limits.until) found.truncated = 'time';
      if (found.truncated) break;
      const element = all[at];
      const tag = tagOf(element);
      const shadow = shadowOf(element);
      if (shadow) {
        guard(shadow);
        pending.push(shadow);
      } else if (tag.includes('-')) {
        found.suspects.unshift(element);
      } else if (CAN_HOST.has(tag) && found.suspects.length < 256 && isHollow(element)) {
        found.suspects.push(element);
      }
      // A pointer over something that no rule of HTML makes clickable: its scripts do.
      if (found.elements <= limits.pointers && !SKIPPED.has(tag)
        && !(pointed && contains(pointed, element))) {
        if (getComputedStyle(element).cursor === 'pointer') {
          pointed = element;
          if (!closest(element, 'a[href],button,input,select,textarea,summary,label,option')) {
            found.clickable.push(element);
          }
        }
      }
    }
  }
  return found;
};
// Drawn although it has no text and none of its children is: what is drawn may be a closed shadow root.
const isHollow = (element) => {
  const child = element.firstElementChild;
  if (child && boxesOf(child).length > 0) return false;
  if (element.firstChild && /\S/.test(textOf(element).slice(0, 200))) return false;
  const box = boxOf(element);
  return box.width > 0 && box.height > 0;
};
const queryAll = (roots, selector) => roots.flatMap((root) => {
  const found = Array.from(query(root, selector));
  if (isElement(root) && matches(root, selector)) found.unshift(root);
  return found;
});

const describeLink = (link) => {
  const href = link instanceof HTMLAnchorElement || link instanceof HTMLAreaElement
    ? link.href
    : attribute(link, 'href') ?? attribute(link, 'xlink:href') ?? '';
  return { text: nameOf(link, 100), href: String(href).slice(0, 2048) };
};
const kindOf = (element) => {
  const tag = tagOf(element);
  if (tag === 'input') return typeOf(element);
  if (['button', 'select', 'textarea', 'summary', 'video', 'audio'].includes(tag)) return tag;
  const role = squeeze(attribute(element, 'role')).split(' ')[0];
  if (role) return role.slice(0, 30);
  if (element.isContentEditable) return 'textbox';
  return tag === 'area' ? 'link' : 'clickable';
};
const stateOf = (element) => {
  const state = {};
  const said = (name) => attribute(element, name);
  if (matches(element, ':disabled') || said('aria-disabled') === 'true') state.disabled = true;
  if (isField(element) && isSecret(element)) {
    state.secret = true;
    state.filled = element.value !== '';
  } else if (isField(element) && !PLAIN_TYPES.has(typeOf(element)) && element.value) {
    state.value = cut(element.value, 120);
  }
  if (['checkbox', 'radio'].includes(kindOf(element))) {
    state.checked = element.checked === true || said('aria-checked') === 'true';
  }
  if (element instanceof HTMLSelectElement) {
    state.value = Array.from(element.selectedOptions).map((it) => cut(it.label, 60)).join(', ');
    state.options = Array.from(element.options).slice(0, 12).map((it) => cut(it.label, 40));
    if (element.options.length > 12) state.optionCount = element.options.length;
  }
  if (matches(element, ':required') || said('aria-required') === 'true') state.required = true;
  if (said('aria-invalid') && said('aria-invalid') !== 'false') state.invalid = true;
  if (said('aria-expanded')) state.expanded = said('aria-expanded') === 'true';
  if (said('aria-selected') === 'true') state.selected = true;
  if (said('aria-pressed') === 'true') state.pressed = true;
  if (element.readOnly === true) state.readOnly = true;
  return state;
};
const described = (element) => ({
  number: numberOf(element),
  selector: selectorOf(element),
  inView: inView(boxOf(element)),
});

// Names for forms and tables without an id: made of what they are, so that they stay the same when
// the page is loaded again or others come before them.
const made = new WeakMap();
const madeNames = new Set();
const madeName = (element, kind, what) => {
  const id = attribute(element, 'id');
  if (id) return id.slice(0, 80);
  let name = made.get(element);
  if (name === undefined) {
    let hash = 5381;
    for (const letter of what) hash = (Math.imul(hash, 33) ^ letter.codePointAt(0)) >>> 0;
    const base = `${kind}-${hash.toString(36)}`;
    name = base;
    for (let more = 2; madeNames.has(name); more += 1) name = `${base}-${more}`;
    madeNames.add(name);
    made.set(element, name);
  }
  return name;
};
const FIELDS = 'input:not([type=hidden i]),select,textarea,button';
const describeForm = (form) => {
  const all = Array.from(elementsOf(form)).filter((it) => matches(it, FIELDS)).slice(0, 100);
  const fields = all.filter((it) => tagOf(it) !== 'button' && !['submit', 'button', 'reset', 'image']
    .includes(typeOf(it)));
  const label = (it) => attribute(it, 'name') || attribute(it, 'id') || nameOf(it, 60) || kindOf(it);
  const action = (attribute(form, 'action') ?? '').split(/[?#]/)[0];
  const names = fields.map((it) => cut(label(it), 60));
  const what = [attribute(form, 'name') ?? '', action, attribute(form, 'method') ?? '', ...names];
  return {
    id: madeName(form, 'form', what.join('\n')),
    ...described(form),
    fields: fields.map((it, at) => ({ name: names[at], ...described(it) })),
  };
};
const describeTable = (table) => {
  const head = table.tHead?.rows[0] ?? table.rows[0];
  const cells = head ? Array.from(head.cells).slice(0, 12) : [];
  const columns = cells.filter((it) => tagOf(it) === 'th').map((it) => cut(textOf(it), 40));
  const caption = table.caption ? cut(textOf(table.caption), 80) : '';
  return {
    id: madeName(table, 'table', [caption, ...columns].join('\n')),
    rows: table.rows.length,
    columns,
    caption,
    ...described(table),
  };
};
const describeMessage = (element) => ({ text: cut(shownText(element, 200), 200), ...described(element) });
const invalidOf = (field) => {
  const told = referred(field, 'aria-errormessage') || referred(field, 'aria-describedby');
  const name = nameOf(field, 60);
  return { text: cut(`${name}: ${told || 'marked as invalid'}`, 200), ...described(field) };
};

// A list of what `make` says of the visible ones, with how many there were. What is in view comes
// first when there are too many, and the order stays the page's.
const list = async (found, max, make, pause) => {
  const kept = [];
  let total = 0;
  for (const element of found) {
    total += 1;
    if (total % 64 === 0) await pause();
    if (kept.length < max && isVisible(element)) kept.push(make(element));
  }
  return { total, kept };
};

const read = async (options) => {
  tallies = new WeakMap();
  places = new WeakMap();
  try {
    return await readNow(options);
  } finally {
    tallies = null;
    places = new WeakMap();
  }
};
const readNow = async (options) => {
  const begun = performance.now();
  const limits = { ...options, until: begun + options.milliseconds };
  let rested = begun;
  const pause = async () => {
    if (performance.now() - rested < 12) return;
    await new Promise((done) => { setTimeout(done, 0); });
    rested = performance.now();
  };
  let scope = document;
  if (options.scope !== null) {
    scope = nodeOf(options.scope);
    if (scope === null) return { stale: true };
  }
  const seen = await survey(scope, limits, pause);
  const inScope = (element) => !options.viewport || inView(boxOf(element));
  const all = (selector) => queryAll(seen.roots, selector).filter(inScope);
  const most = options.items;

  const headings = await list(all('h1,h2,h3,h4,h5,h6,[role=heading]'), most, (it) => ({
    text: cut(shownText(it, 160), 160),
    level: Number(attribute(it, 'aria-level') ?? tagOf(it).slice(1)) || 2,
  }), pause);
  const rule = all(CONTROLS).filter((it) => !(tagOf(it) === 'label' && labelled(it)));
  const known = new Set(rule);
  const clickable = seen.clickable.filter((it) => !known.has(it) && inScope(it));
  const controls = await list([...rule, ...clickable], most, (it) => ({
    type: kindOf(it), text: nameOf(it, 80), ...stateOf(it), ...described(it),
  }), pause);
  const forms = await list(all('form'), most, describeForm, pause);
  const links = await list(all('a[href]'), most, (it) => ({
    ...describeLink(it), ...described(it),
  }), pause);
  const tables = await list(all('table:not([role=presentation]):not([role=none])'), most, describeTable, pause);
  const messages = await list(all(MESSAGES), 20, describeMessage, pause);
  const invalid = await list(all('[aria-invalid]:not([aria-invalid=false])'), 20, invalidOf, pause);
  const textRoots = seen.roots.slice(0, 1).map((it) => (it === document ? document.body : it));
  const wanted = options.characters > 0 ? textRoots.filter(Boolean) : [];
  const text = await readText(wanted, limits, pause);
  const frames = queryAll(seen.roots, 'iframe,frame').filter(isVisible).slice(0, 64);
  return {
    title: document.title.slice(0, 500),
    headings, forms, links, tables, controls, messages, invalid,
    text: text.text,
    left: text.left,
    truncated: seen.truncated ?? text.truncated,
    elements: seen.elements,
    frames: frames.map((it) => ({ number: numberOf(it), selector: selectorOf(it) })),
    suspects: seen.suspects.slice(0, 96).map(numberOf),
    milliseconds: performance.now() - begun,
  };
};
// A label whose field is shown is told by its field.
const labelled = (label) => {
  const field = label.control;
  return Boolean(field) && isVisible(field);
};
