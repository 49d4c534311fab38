// Which elements a person can use, and which one has the focus.

const KINDS = {
  link: 'link', button: 'button', text: 'text', secret: 'secret', select: 'select', check: 'check', other: 'other',
};
const ROLES = new Set(['button', 'link', 'checkbox', 'radio', 'tab', 'menuitem', 'option', 'switch',
  'menuitemcheckbox', 'menuitemradio', 'treeitem', 'combobox', 'slider', 'spinbutton']);
// The kind of use of an element for a person; null for the rest.
const usedAs = (element, tag, style, pointer) => {
  if (tag === 'a' && hasAttribute(element, 'href')) return KINDS.link;
  if (tag === 'input' || tag === 'textarea') {
    const type = tag === 'input' ? typeOf(element) : tag;
    if (glyphs[type]) return KINDS.check;
    if (PLAIN_TYPES.has(type)) return KINDS.button;
    return isSecret(element) ? KINDS.secret : KINDS.text;
  }
  if (tag === 'select') return KINDS.select;
  if (tag === 'button' || tag === 'summary') return KINDS.button;
  if (element.isContentEditable && !parentOf(element)?.isContentEditable) return KINDS.text;
  if (ROLES.has(attribute(element, 'role')) || hasAttribute(element, 'onclick')) return KINDS.other;
  return style.cursor === 'pointer' && pointer !== 'pointer' && tag !== 'label' ? KINDS.other : null;
};
const focusKind = () => {
  const active = deepActive();
  if (!active || active === document.body) return {};
  const tag = tagOf(active);
  if (tag === 'iframe' || tag === 'frame') return { inner: numberOf(active) };
  if (isField(active)) {
    const type = tag === 'input' ? typeOf(active) : tag;
    if (PLAIN_TYPES.has(type)) return { kind: 'control' };
    return { kind: isSecret(active) ? 'secret' : 'text' };
  }
  return { kind: active.isContentEditable ? 'text' : 'control' };
};
