// Adapts a page to cells: every letter is as wide as a cell, and every line as high, so that
// columns stay aligned. Also detects changes of the page.

const adoptedBy = {
  document: getter(Document.prototype, 'adoptedStyleSheets'),
  root: getter(ShadowRoot.prototype, 'adoptedStyleSheets'),
};
const adoptedOf = (root) =>
  (root instanceof Document ? adoptedBy.document(root) : adoptedBy.root(root));

const HAN = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]/g;
const isHan = () => {
  const sample = textOf(document.body ?? document.documentElement).slice(0, 4000);
  return (sample.match(HAN)?.length ?? 0) * 8 > sample.length;
};
const advances = () => {
  const pen = new OffscreenCanvas(1, 1).getContext('2d');
  pen.font = '100px monospace';
  return { letter: pen.measureText('0').width, han: pen.measureText('汉').width };
};
// Important rules in a layer take precedence over all rules of the page, wherever they are.
const rulesFor = (width, height) => {
  const { letter, han } = advances();
  const size = (100 * width) / letter;
  // A letter that takes two cells in a terminal must take two cells here.
  const gap = isHan() ? Math.max(0, 2 * width - (size * han) / 100) : 0;
  return `@layer waypost {
    *, ::before, ::after, ::placeholder, ::file-selector-button {
      font-family: monospace !important; line-height: ${height}px !important;
      letter-spacing: ${gap}px !important; word-spacing: 0 !important;
      font-stretch: normal !important; font-kerning: none !important;
      font-variant-ligatures: none !important; text-rendering: geometricPrecision !important;
    }
    *:not(:root), ::before, ::after, ::placeholder, ::file-selector-button {
      font-size: ${size}px !important;
    }
    input[type=checkbox], input[type=radio] {
      min-width: ${3 * width}px !important; height: ${height}px !important;
      margin: 0 !important; vertical-align: top !important;
    }
    sub, sup { vertical-align: baseline !important; }
  }`;
};
let fitted = { key: '', sheet: null };
const fit = (width, height) => {
  // The language of a page is known once it has loaded.
  const key = `${width} ${height} ${document.readyState}`;
  if (fitted.key !== key) {
    const sheet = fitted.sheet ?? new CSSStyleSheet();
    sheet.replaceSync(rulesFor(width, height));
    fitted = { key, sheet };
  }
  fitRoot(document);
};
// A page that replaces its own style sheets has removed ours.
const fitRoot = (root) => {
  const sheets = adoptedOf(root);
  if (fitted.sheet && !sheets.includes(fitted.sheet)) sheets.push(fitted.sheet);
};

// The last drawing may be outdated.
let isChanged = true;
let wake = null;
const changed = () => {
  isChanged = true;
  if (wake) wake();
};
const seer = new MutationObserver(changed);
const seen = new WeakSet();
const see = (root) => {
  if (seen.has(root)) return;
  seen.add(root);
  seer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  for (const kind of ['scroll', 'input', 'change', 'focusin', 'focusout', 'load', 'toggle',
    'transitionrun', 'transitionend', 'animationstart', 'animationend']) {
    root.addEventListener(kind, changed, { capture: true, passive: true });
  }
  if (root !== document) return;
  document.addEventListener('selectionchange', changed, { passive: true });
  for (const kind of ['resize', 'load']) addEventListener(kind, changed, { passive: true });
};
const isMoving = () =>
  document.getAnimations().some((it) => it.playState === 'running' && it.effect?.getComputedTiming().duration > 0);

let version = Math.floor(Math.random() * 2 ** 40);
let lastDrawn = '';
// The view as JSON; null if its version is still `since` after `hold` milliseconds.
const frame = async ({ cell, since, hold, again, pictures }) => {
  const [width, height] = cell;
  fit(width, height);
  see(document);
  if (hold > 0 && since === version && !isChanged) {
    await new Promise((resolve) => {
      wake = resolve;
      setTimeout(resolve, isMoving() ? Math.min(hold, 100) : hold);
    });
    wake = null;
  }
  isChanged = false;
  const drawn = JSON.stringify(draw(width, height, pictures));
  if (drawn === lastDrawn && since === version && !again) return null;
  if (drawn !== lastDrawn || since !== version) version += 1;
  lastDrawn = drawn;
  return { version, drawn };
};
