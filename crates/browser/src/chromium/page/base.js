// What every document gets before its own scripts run, in an isolated world: the page can neither
// see nor change it. The DOM is shared, though, and a form or a document exposes its children as
// properties by their names (`<input name=parentElement>`), so everything is queried with the
// prototypes' own functions.

const { call } = Function.prototype;
const method = (prototype, name) => call.bind(prototype[name]);
const getter = (prototype, name) => call.bind(Object.getOwnPropertyDescriptor(prototype, name).get);

const attribute = method(Element.prototype, 'getAttribute');
const hasAttribute = method(Element.prototype, 'hasAttribute');
const closest = method(Element.prototype, 'closest');
const matches = method(Element.prototype, 'matches');
const boxOf = method(Element.prototype, 'getBoundingClientRect');
const boxesOf = method(Element.prototype, 'getClientRects');
const widthOf = getter(Element.prototype, 'clientWidth');
const heightOf = getter(Element.prototype, 'clientHeight');
const checkVisibility = method(Element.prototype, 'checkVisibility');
const rootOf = method(Node.prototype, 'getRootNode');
const contains = method(Node.prototype, 'contains');
const tagOf = getter(Element.prototype, 'localName');
const openRootOf = getter(Element.prototype, 'shadowRoot');
const parentOf = getter(Node.prototype, 'parentElement');
const placeBeside = method(Node.prototype, 'compareDocumentPosition');
const isConnected = getter(Node.prototype, 'isConnected');
const textOf = getter(Node.prototype, 'textContent');
const nextElementOf = getter(Element.prototype, 'nextElementSibling');
const firstChildOf = getter(Node.prototype, 'firstChild');
const parentNodeOf = getter(Node.prototype, 'parentNode');
const controlOf = getter(HTMLLabelElement.prototype, 'control');
const elementsOf = getter(HTMLFormElement.prototype, 'elements');
const queryDocument = method(Document.prototype, 'querySelectorAll');
const queryFragment = method(DocumentFragment.prototype, 'querySelectorAll');
const queryElement = method(Element.prototype, 'querySelectorAll');
const documentFromPoint = method(Document.prototype, 'elementFromPoint');
const rootFromPoint = method(ShadowRoot.prototype, 'elementFromPoint');
const activeOfDocument = getter(Document.prototype, 'activeElement');
const activeOfRoot = getter(ShadowRoot.prototype, 'activeElement');

const query = (root, selector) => {
  if (root instanceof Document) return queryDocument(root, selector);
  return root instanceof DocumentFragment
    ? queryFragment(root, selector)
    : queryElement(root, selector);
};
const isElement = (node) => node instanceof Element;
const firstOfElement = getter(Element.prototype, 'firstElementChild');
const firstOfDocument = getter(Document.prototype, 'firstElementChild');
const firstOfFragment = getter(DocumentFragment.prototype, 'firstElementChild');
const firstElementOf = (parent) => {
  if (isElement(parent)) return firstOfElement(parent);
  return parent instanceof Document ? firstOfDocument(parent) : firstOfFragment(parent);
};

// The visible text: one space between words.
const squeeze = (text) => (text ?? '').replace(/\s+/g, ' ').trim();
const cut = (text, length) => {
  const whole = squeeze((text ?? '').slice(0, length * 8));
  return whole.length <= length ? whole : `${Array.from(whole).slice(0, length - 1).join('')}…`;
};

// Numbers of nodes: each is assigned once in the life of the document, and to one node only.
const numbers = new WeakMap();
const numbered = new Map();
let last = 0;
const numberOf = (node) => {
  let number = numbers.get(node);
  if (number === undefined) {
    last += 1;
    number = last;
    numbers.set(node, number);
    numbered.set(number, new WeakRef(node));
  }
  return number;
};
const nodeOf = (number) => {
  const node = numbered.get(number)?.deref();
  return node !== undefined && isConnected(node) ? node : null;
};

// Shadow roots, including closed ones that the engine has reported.
const closedRoots = new WeakMap();
const shadowOf = (element) => openRootOf(element) ?? closedRoots.get(element) ?? null;
const adopt = (host, root) => {
  closedRoots.set(host, root);
  guard(root);
};

const SEEN = { opacityProperty: true, visibilityProperty: true };
const isShown = (element) => checkVisibility(element, SEEN);
// Whether it opens and closes an element `details`: the first `summary` in it.
const isSummary = (element) => {
  if (tagOf(element) !== 'summary') return false;
  const details = parentOf(element);
  if (!(details instanceof HTMLDetailsElement)) return false;
  for (let at = firstOfElement(details); at; at = at.nextElementSibling) {
    if (tagOf(at) === 'summary') return at === element;
  }
  return false;
};
// The box of an element that is drawn, or null.
const boxSeen = (element) => {
  const box = boxOf(element);
  // A line that is drawn has only one of the two.
  const isThere = element instanceof SVGElement
    ? box.width > 0 || box.height > 0
    : box.width > 0 && box.height > 0;
  return isThere && isShown(element) ? box : null;
};
const isVisible = (element) => boxSeen(element) !== null;

// The labels of each field, collected once per reading: querying a field for its labels searches
// the whole page.
let labels = null;
const findLabels = (roots) => {
  labels = new Map();
  for (const root of roots) {
    for (const label of query(root, 'label')) {
      const field = controlOf(label);
      if (field && !labels.get(field)?.push(label)) labels.set(field, [label]);
    }
  }
};
const labelsOf = (field) =>
  (labels === null ? Array.from(field.labels ?? []) : labels.get(field) ?? []);

// Secret fields: once secret, always secret, whatever the page changes later.
const secrets = new WeakSet();
const SECRET_NAME = new RegExp(
  'passw|passphrase|passcode|pwd|secret|one.?time|\\botp|totp|\\b2fa|\\bmfa|\\bpin\\b|\\bcv[vc]2?\\b'
    + '|security.?code|verification.?code|card.?num|api.?key|access.?token|kennwort|contrase'
    + '|mot.?de.?passe|senha|密码|パスワード',
  'i',
);
const SECRET_FILL = /password|one-time-code|\bcc-/i;
const isField = (node) => node instanceof HTMLInputElement || node instanceof HTMLTextAreaElement;
const PLAIN_TYPES = new Set(['submit', 'button', 'reset', 'image', 'checkbox', 'radio', 'file']);
const typeOf = (input) => (attribute(input, 'type') ?? 'text').toLowerCase();
const isSecret = (field) => {
  if (!isField(field)) return false;
  if (secrets.has(field)) return true;
  const type = tagOf(field) === 'input' ? typeOf(field) : 'text';
  if (PLAIN_TYPES.has(type)) return false;
  const said = ['name', 'id', 'aria-label', 'placeholder'].map((it) => attribute(field, it) ?? '');
  const told = labelsOf(field).slice(0, 4).map((it) => textOf(it).slice(0, 80));
  const found = type === 'password'
    || SECRET_FILL.test(attribute(field, 'autocomplete') ?? '')
    || SECRET_NAME.test([...said, ...told].join('\n'));
  if (found) secrets.add(field);
  return found;
};

// Reports the content of a secret field to the engine, so that it can mask it in all output.
const confess = (field) => {
  const value = isField(field) && isSecret(field) ? field.value : '';
  if (value && typeof waypostSecret === 'function') {
    waypostSecret(JSON.stringify({ field: numberOf(field), value: value.slice(0, 4096) }));
  }
};
const guarded = new WeakSet();
const guard = (root) => {
  if (guarded.has(root)) return;
  guarded.add(root);
  new MutationObserver((changes) => {
    for (const { target, oldValue } of changes) {
      if (oldValue?.toLowerCase() === 'password' || typeOf(target) === 'password') {
        secrets.add(target);
      }
    }
  }).observe(root, {
    subtree: true,
    attributes: true,
    attributeFilter: ['type'],
    attributeOldValue: true,
  });
  const heard = (event) => {
    const target = event.composedPath()[0];
    if (!isElement(target)) return;
    if (rootOf(target) !== root) guard(rootOf(target));
    confess(target);
  };
  for (const kind of ['focusin', 'input', 'change', 'focusout']) {
    root.addEventListener(kind, heard, { capture: true, passive: true });
  }
  root.addEventListener('submit', ({ target }) => {
    if (target instanceof HTMLFormElement) Array.from(elementsOf(target)).forEach(confess);
  }, { capture: true, passive: true });
};
guard(document);
