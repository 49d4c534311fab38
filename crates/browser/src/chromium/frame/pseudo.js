// Text that style sheets add before and after elements: the sheets tell which elements have some,
// because querying each element would take longer than everything else.

const styleSheetsOf = getter(Document.prototype, 'styleSheets');
const walkerOf = method(Document.prototype, 'createTreeWalker');

const RULES_MAX = 20_000;
const SIDES = ['before', 'after'];
let generated = { key: '', before: null, after: null };

const everyRule = (rules, visit, depth = 0) => {
  for (const rule of rules) {
    if (rule.selectorText !== undefined) visit(rule);
    if (depth < 6 && rule.cssRules?.length) everyRule(rule.cssRules, visit, depth + 1);
    const inner = rule.styleSheet && rulesOf(rule.styleSheet);
    if (depth < 6 && inner) everyRule(inner, visit, depth + 1);
  }
};
// Style sheets of other sites are not readable for scripts.
const rulesOf = (sheet) => {
  try {
    return sheet.cssRules;
  } catch {
    return [];
  }
};
// For each side, a selector of the elements that may have generated text; null if there are none.
const sheetsOf = (root) => [...styleSheetsOf(root), ...adoptedOf(root)];
const readSheets = (root) => {
  const sheets = sheetsOf(root);
  const key = sheets.map((it) => rulesOf(it).length).join();
  if (generated.key === key) return;
  const found = { before: [], after: [] };
  let count = 0;
  const visit = (rule) => {
    count += 1;
    const content = rule.style?.content;
    if (count > RULES_MAX || !content || /^(none|normal|""|'')$/.test(content)) return;
    for (const side of SIDES) {
      const end = new RegExp(`::?${side}$`);
      for (const part of rule.selectorText.split(/,(?![^(]*\))/)) {
        if (end.test(part.trim())) found[side].push(part.trim().replace(end, '') || '*');
      }
    }
  };
  for (const sheet of sheets) everyRule(rulesOf(sheet), visit);
  generated = { key };
  for (const side of SIDES) generated[side] = found[side].length > 0 ? `:is(${found[side].join()})` : null;
};
const mayHave = (element, side) => {
  try {
    return generated[side] !== null && matches(element, generated[side]);
  } catch {
    generated[side] = null;
    return false;
  }
};

const contentOf = (element, content) => {
  let text = '';
  for (const [, string, name] of content.matchAll(/"((?:[^"\\]|\\.)*)"|attr\(([\w-]+)\)/g)) {
    text += string === undefined ? attribute(element, name) ?? '' : string.replace(/\\(.)/g, '$1');
  }
  return text.replace(/\s+/g, ' ').slice(0, 200);
};
const firstText = (element, isLast) => {
  const walker = walkerOf(document, element, NodeFilter.SHOW_TEXT);
  let found = null;
  for (let node = walker.nextNode(), left = 200; node && left > 0; node = walker.nextNode(), left -= 1) {
    if (!/\S/.test(node.data)) continue;
    found = node;
    if (!isLast) break;
  }
  return found;
};

// Draws the text before or after an element with `put(x, middle, text, style)`.
const placePseudo = (element, side, ownStyle, box, [width, height], put) => {
  if (!mayHave(element, side)) return;
  const style = getComputedStyle(element, `::${side}`);
  if (style.display === 'none' || style.visibility !== 'visible') return;
  const text = contentOf(element, style.content);
  if (!/\S/.test(text)) return;
  const px = (name) => parseFloat(style[name]) || 0;
  const inside = insideOf(ownStyle, box);
  if (style.position === 'absolute' || style.position === 'fixed') {
    if (ownStyle.position === 'static' || style.position === 'fixed') return;
    put(box.left + px('left'), box.top + px('top') + height / 2, text.trim(), style);
    return;
  }
  const isBefore = side === 'before';
  const isInline = style.display.startsWith('inline') && style.float === 'none';
  const beside = isInline ? firstText(element, !isBefore) : null;
  if (!beside) {
    const y = isBefore || isInline ? inside.top + height / 2 : inside.bottom - height / 2;
    put(inside.left, y, text.trim(), style);
    return;
  }
  const words = /\S(?:[^]*\S)?/.exec(beside.data);
  const at = isBefore ? words.index : words.index + words[0].length - 1;
  const edge = boxOfRange(part(beside, at, at + 1));
  const x = isBefore ? edge.left - cellsOf(text) * width - px('marginRight') : edge.right + px('marginLeft');
  put(x, (edge.top + edge.bottom) / 2, text, style);
};
