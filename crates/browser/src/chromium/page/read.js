// Describes the page as data, within hard limits.

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
    // A value that the page or the browser entered is kept secret like a typed one.
    confess(element);
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
  if (isSummary(element)) state.expanded = parentOf(element).open;
  else if (said('aria-expanded')) state.expanded = said('aria-expanded') === 'true';
  if (said('aria-selected') === 'true') state.selected = true;
  if (said('aria-pressed') === 'true') state.pressed = true;
  if (element.readOnly === true) state.readOnly = true;
  return state;
};
const described = (element, box = boxOf(element)) => ({
  number: numberOf(element),
  selector: selectorOf(element),
  inView: inView(box),
});

// Names for forms and tables without an id: derived from what they are, so that they stay the same
// when the page is reloaded or others are inserted before them.
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
const describeForm = (form, box) => {
  const all = Array.from(elementsOf(form)).filter((it) => matches(it, FIELDS)).slice(0, 100);
  const fields = all.filter((it) => tagOf(it) !== 'button' && !['submit', 'button', 'reset', 'image']
    .includes(typeOf(it)));
  const label = (it) => attribute(it, 'name') || attribute(it, 'id') || nameOf(it, 60) || kindOf(it);
  const action = (attribute(form, 'action') ?? '').split(/[?#]/)[0];
  const names = fields.map((it) => cut(label(it), 60));
  const what = [attribute(form, 'name') ?? '', action, attribute(form, 'method') ?? '', ...names];
  return {
    id: madeName(form, 'form', what.join('\n')),
    ...described(form, box),
    fields: fields.map((it, at) => ({ name: names[at], ...described(it) })),
  };
};
const describeTable = (table, box) => {
  const head = table.tHead?.rows[0] ?? table.rows[0];
  const cells = head ? Array.from(head.cells).slice(0, 12) : [];
  const columns = cells.filter((it) => tagOf(it) === 'th').map((it) => cut(textOf(it), 40));
  const caption = table.caption ? cut(textOf(table.caption), 80) : '';
  return {
    id: madeName(table, 'table', [caption, ...columns].join('\n')),
    rows: table.rows.length,
    ...(columns.length > 0 ? { columns } : {}),
    ...(caption ? { caption } : {}),
    ...described(table, box),
  };
};
const describeMessage = (element, box) => ({
  type: 'message', text: cut(shownText(element, 200), 200), ...described(element, box),
});
const invalidOf = (field, box) => {
  const told = referred(field, 'aria-errormessage') || referred(field, 'aria-describedby');
  const name = nameOf(field, 60);
  return { type: 'message', text: cut(`${name}: ${told || 'marked as invalid'}`, 200), ...described(field, box) };
};

// Those of many elements that are in view. Only some are measured: between two that are on the same
// side of the view, none is assumed to be in it.
const STRIDE = 16;
const chosen = (found, most) => {
  const sideOf = (element) => {
    const box = boxOf(element);
    if (box.bottom <= 0) return -1;
    return box.top >= innerHeight ? 1 : 0;
  };
  const inside = new Set();
  let before = 0;
  for (let at = 0; at < found.length && inside.size < most; at += STRIDE) {
    const some = found.slice(at, at + STRIDE);
    const side = sideOf(some.at(-1));
    if (side === 0 || side !== before) {
      for (const element of some) if (inside.size < most && inView(boxOf(element))) inside.add(element);
    }
    before = side;
  }
  return inside;
};
// A list of what `make` returns for the visible ones, and their number: if there are too many,
// those in view and then the first ones.
const list = async (found, most, make, pause) => {
  const told = new Map();
  let asked = 0;
  const tell = async (element) => {
    asked += 1;
    if (asked % 64 === 0) await pause();
    const box = boxSeen(element);
    told.set(element, box && make(element, box));
    return box !== null;
  };
  let room = most;
  if (found.length > most) {
    for (const element of chosen(found, most)) if (await tell(element)) room -= 1;
  }
  for (const element of found) {
    if (room <= 0) break;
    if (!told.has(element) && await tell(element)) room -= 1;
  }
  const kept = [];
  for (const element of found) {
    const it = told.get(element);
    if (it) kept.push(it);
  }
  return { total: found.length, kept, cut: told.size < found.length };
};

// The content of a survey, or of a new one if the page has changed. Nothing that is counted for one
// reading is kept for the next.
const read = async (options) => {
  if (!surveys.has(options.key)) {
    const again = await survey(options);
    if (again.stale) return again;
    options.key = again.key;
  }
  tallies = new WeakMap();
  places = new WeakMap();
  try {
    return await readNow(surveys.get(options.key), options);
  } finally {
    tallies = null;
    places = new WeakMap();
    labels = null;
  }
};
const readNow = async ({ roots, lists, before }, { most, ...options }) => {
  const pause = pauses();
  findLabels(new Set(roots.map((it) => rootOf(it))));
  const told = (name, make) => list(lists[name], most[name], make, pause);
  const known = (it) => (before.has(it) ? { met: true } : {});
  return {
    lists: {
      headings: await told('headings', (it) => ({
        text: cut(shownText(it, 160), 160),
        level: Math.min(Math.max(Math.trunc(attribute(it, 'aria-level') ?? tagOf(it)[1]) || 2, 1), 6),
      })),
      forms: await told('forms', (it, box) => ({ ...describeForm(it, box), ...known(it) })),
      links: await told('links', (it, box) => ({ ...describeLink(it), ...described(it, box), ...known(it) })),
      tables: await told('tables', (it, box) => ({ ...describeTable(it, box), ...known(it) })),
      controls: await told('controls', (it, box) => ({
        type: kindOf(it), text: nameOf(it, 80), ...stateOf(it), ...described(it, box), ...known(it),
      })),
      messages: await told('messages', describeMessage),
      invalid: await told('invalid', invalidOf),
    },
    ...(options.characters > 0 ? await readText(options) : {}),
  };
};
