// The view as drawing operations for a painter, the lowest layer first. All sizes are in CSS pixels
// of the view. Only what is in view is examined.

const firstOf = getter(Node.prototype, 'firstChild');
const nextOf = getter(Node.prototype, 'nextSibling');
const childrenOf = getter(Element.prototype, 'children');
const scrollHeightOf = getter(Element.prototype, 'scrollHeight');

// The maximum number of elements that are examined for one frame.
const VISITS_MAX = 12_000;
const OPERATIONS_MAX = 20_000;
const TARGETS_MAX = 2_000;
const DEPTH_MAX = 300;
// Elements that are displayed outside their ancestors, and the places where they are looked for.
const strays = new Set();
const STRAYS_MAX = 12;
const PLACES = 96;
const LOOKING_MS = 2;
let place = 0;
const UNDRAWN = new Set([
  'script', 'style', 'noscript', 'template', 'head', 'title', 'meta', 'link', 'datalist', 'source',
  'track', 'param', 'defs', 'clippath', 'mask', 'symbol', 'optgroup', 'option', 'area', 'map', 'base',
]);
const REPLACED = new Set(['img', 'canvas', 'video', 'audio', 'object', 'embed']);
const BOLD = 1;
const UNDERLINED = 2;
const FAINT = 4;
// Between dark and light: both are readable on a ground of unknown colour.
const UNKNOWN_GROUND = 'rgb(112, 112, 112)';

const packs = new Map();
let dropper = null;
// A colour as one number: red, green, blue and opacity, one byte each.
const pack = (color) => {
  let packed = packs.get(color);
  if (packed !== undefined) return packed;
  const plain = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(color);
  let parts;
  if (plain) parts = [+plain[1], +plain[2], +plain[3], (plain[4] === undefined ? 1 : +plain[4]) * 255];
  else {
    dropper ??= new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    dropper.clearRect(0, 0, 1, 1);
    dropper.fillStyle = color;
    dropper.fillRect(0, 0, 1, 1);
    parts = dropper.getImageData(0, 0, 1, 1).data;
  }
  packed = parts.reduce((sum, it) => sum * 256 + Math.max(0, Math.min(255, Math.round(it))), 0);
  if (packs.size > 4_000) packs.clear();
  packs.set(color, packed);
  return packed;
};
const opacityOf = (packed) => packed % 256;
const groundOf = (style) => {
  const own = pack(style.backgroundColor);
  if (opacityOf(own) > 0 || style.backgroundImage === 'none') return own;
  if (style.webkitBackgroundClip === 'text') return own;
  const first = /rgba?\([^)]*\)/.exec(style.backgroundImage);
  return pack(first && !style.backgroundImage.startsWith('url') ? first[0] : UNKNOWN_GROUND);
};
const colorOf = (style) => {
  const filled = pack(style.webkitTextFillColor);
  // Letters that are filled with a background have its colour, whichever it is.
  return opacityOf(filled) === 0 && style.webkitBackgroundClip === 'text' ? pack(style.color) : filled;
};

const intersect = (a, b) => ({
  left: Math.max(a.left, b.left),
  top: Math.max(a.top, b.top),
  right: Math.min(a.right, b.right),
  bottom: Math.min(a.bottom, b.bottom),
});
const isNothing = (box) => box.right <= box.left || box.bottom <= box.top;
const round = (value) => Math.round(value * 10) / 10;
const sides = (box) => [round(box.left), round(box.top), round(box.right), round(box.bottom)];

const draw = (width, height, pictures) => {
  const view = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  const ground = { z: 0, ops: [], above: [] };
  const targets = [];
  const met = new WeakSet();
  const forced = new WeakSet();
  let caret = null;
  let visits = 0;
  let count = 0;
  let depth = 0;

  const add = (layer, op) => {
    count += 1;
    if (count <= OPERATIONS_MAX) layer.ops.push(op);
  };
  const text = (at, x, middle, what, color, flags) => {
    if (what === '' || middle < at.clip.top || middle > at.clip.bottom) return;
    const { left, right } = at.clip;
    if (x >= right) return;
    add(at.layer, { t: [round(x), round(middle), color, flags, what, round(left), round(right), at.target] });
    if (at.target >= 0) targets[at.target].isShown = true;
  };
  const boxesIn = (element, style, box, clip) => {
    const boxes = style.display === 'inline' ? Array.from(boxesOf(element)) : [box];
    return boxes.slice(0, 64).map((it) => intersect(it, clip)).filter((it) => !isNothing(it));
  };

  const isOut = (element, box) => box.right <= 0 || box.left >= view.right || box.top >= view.bottom
    || (box.bottom <= 0 && box.top + scrollHeightOf(element) <= 0);
  const isCut = (style, box) => {
    if (/inset\((50|100)%/.test(style.clipPath) || /rect\((0|1)px,? /.test(style.clip)) return true;
    return style.overflow !== 'visible' && box.width <= 1.5 && box.height <= 1.5;
  };

  // With very many children, the first one that is not above the view, if they are in sequence.
  const firstChild = (parent) => {
    const children = parent instanceof Element ? childrenOf(parent) : parent.children;
    const total = children.length;
    if (total < 64) return { child: firstOf(parent), isOrdered: false };
    let before = -Infinity;
    for (let step = 0; step <= 8; step += 1) {
      const box = boxOf(children[Math.floor((step * (total - 1)) / 8)]);
      if (box.height === 0 || box.top < before) return { child: firstOf(parent), isOrdered: false };
      before = box.top;
    }
    let [low, high] = [0, total - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (boxOf(children[middle]).bottom <= 0) low = middle + 1;
      else high = middle;
    }
    return { child: low < 16 ? firstOf(parent) : children[low - 16], isOrdered: true };
  };
  const inside = (parent, style, at) => {
    depth += 1;
    const { child: first, isOrdered } = firstChild(parent);
    let below = 0;
    let ink = null;
    for (let child = first; child && below < 16 && depth < DEPTH_MAX; child = nextOf(child)) {
      if (child.nodeType === Node.TEXT_NODE) {
        if (!at.isVisible || !/\S/.test(child.data.slice(0, 2000))) continue;
        ink ??= inkOf(style, at);
        if (opacityOf(ink.color) < 13) continue;
        placeText(child, ink.transform, at.clip, width, (x, middle, what) =>
          text(at, x, middle, what, ink.color, ink.flags));
      } else if (isElement(child)) {
        if (isOrdered) below = boxOf(child).top > view.bottom ? below + 1 : 0;
        enter(child, at);
      }
      if (visits >= VISITS_MAX) break;
    }
    depth -= 1;
  };
  const inkOf = (style, at) => ({
    color: colorOf(style),
    flags: (parseInt(style.fontWeight, 10) >= 600 ? BOLD : 0) | (at.isUnderlined ? UNDERLINED : 0),
    transform: style.textTransform,
  });

  const marker = (element, style, box, at) => {
    const kind = style.listStyleType;
    if (kind === 'none' || !at.isVisible) return;
    const isNumber = kind.startsWith('decimal') && parentOf(element);
    const start = isNumber ? Number(attribute(parentOf(element), 'start') ?? 1) : 0;
    const sign = isNumber ? `${start + placeOf(element).place - 1}.` : '•';
    const line = box.top + (parseFloat(style.paddingTop) || 0) + height / 2;
    text(at, box.left - (sign.length + 1) * width, line, sign, colorOf(style), 0);
  };
  const isPage = (element) => element === document.body || element === document.documentElement;
  const isLarge = (box) => box.width >= PICTURE_MIN[0] * width && box.height >= PICTURE_MIN[1] * height;
  const picture = (element, version, box, at, alt) => {
    const seen = intersect(box, at.clip);
    if (isNothing(seen)) return;
    const number = version > 0 ? numberOf(element) : 0;
    add(at.layer, { m: { seen: sides(seen), whole: sides(box), target: at.target, number, version, alt } });
    if (number > 0 && at.target >= 0) targets[at.target].isShown = true;
  };
  const replaced = (element, tag, style, box, at) => {
    const seenPart = intersect(box, at.clip);
    if (isNothing(seenPart)) return;
    const name = cut(attribute(element, 'alt') ?? attribute(element, 'aria-label') ?? '', 200);
    const said = name || (tag === 'img' ? '' : tag);
    const version = pictures && isLarge(box) ? pictureOf(element, tag) : 0;
    picture(element, version, box, at, said);
    if (version > 0) return;
    const room = Math.floor((seenPart.right - seenPart.left) / width);
    if (said && room > 1) {
      const shown = cut(said, Math.max(1, room - 2));
      text(at, seenPart.left, seenPart.top + Math.min(height, seenPart.bottom - seenPart.top) / 2,
        `[${shown}]`.slice(0, room), colorOf(style), FAINT);
    }
  };
  const beside = (side, element, style, box, at) => {
    if (!generated[side] || !at.isVisible) return;
    placePseudo(element, side, style, box, [width, height], (x, middle, what, own) => {
      const { color, flags, transform } = inkOf(own, at);
      text(at, x, middle, (cased[transform] ?? String)(what), color, flags);
    });
  };
  const frameOf = (element, style, box, at) => {
    const room = insideOf(style, box);
    const clip = intersect(room, at.clip);
    if (!isNothing(clip)) {
      add(at.layer, { i: [round(room.left), round(room.top), sides(clip), numberOf(element)] });
    }
  };

  const enter = (element, outer) => {
    if (visits >= VISITS_MAX) return;
    visits += 1;
    met.add(element);
    const tag = tagOf(element);
    if (UNDRAWN.has(tag)) return;
    const box = boxOf(element);
    const isFlat = box.width <= 0 || box.height <= 0;
    if (isFlat ? !firstOf(element) && !shadowOf(element) : !isPage(element) && !forced.has(element) && isOut(element, box)) return;
    const style = getComputedStyle(element);
    if (style.display === 'none' || isCut(style, box)) return;
    const opacity = parseFloat(style.opacity);
    if (opacity < 0.05) return;
    const isPlaced = style.position !== 'static';
    const at = {
      clip: { fixed: view, absolute: outer.holder }[style.position] ?? outer.clip,
      holder: outer.holder,
      layer: outer.layer,
      target: outer.target,
      pointer: style.cursor,
      isVisible: style.visibility === 'visible',
      isUnderlined: outer.isUnderlined || style.textDecorationLine.includes('underline'),
    };
    if (isPlaced || opacity < 1 || style.zIndex !== 'auto') {
      at.layer = { z: parseInt(style.zIndex, 10) || 0, ops: [], above: [] };
      outer.layer.above.push(at.layer);
    }
    const kind = at.isVisible ? usedAs(element, tag, style, outer.pointer) : null;
    if (kind !== null && targets.length < TARGETS_MAX) {
      at.target = targets.length;
      const options = kind === KINDS.select
        ? Array.from(element.options).slice(0, 200).map((it) => cut(it.label, 60)) : undefined;
      targets.push({ kind, number: numberOf(element), options, isShown: false });
    }
    if (at.isVisible && !isFlat) backdrop(element, tag, style, box, at, kind !== null);
    if (style.display === 'list-item') marker(element, style, box, at);
    if (style.overflow !== 'visible' && !isPage(element) && style.display !== 'inline') {
      at.clip = intersect(at.clip, box);
    }
    if (isPlaced || style.transform !== 'none') at.holder = at.clip;
    if (isNothing(at.clip) && !isFlat) return;
    beside('before', element, style, box, at);
    contents(element, tag, style, box, at);
    beside('after', element, style, box, at);
    const own = kind === null ? null : targets[at.target];
    const isAlone = own && !own.isShown && targets.at(-1) === own && box.height < 5 * height;
    if (isAlone && !isFlat && [KINDS.link, KINDS.button, KINDS.other].includes(kind)) {
      const room = Math.max(1, Math.floor(box.width / width));
      text(at, box.left, (box.top + box.bottom) / 2, cut(nameOf(element, 40) || '▪', room), colorOf(style), 0);
    }
  };
  const backdrop = (element, tag, style, box, at, isTarget) => {
    const color = groundOf(style);
    const isFilled = opacityOf(color) > 12;
    for (const part of isFilled || isTarget ? boxesIn(element, style, box, at.clip) : []) {
      if (isFilled) add(at.layer, { f: [sides(part), color, at.target] });
      if (isTarget) add(at.layer, { a: [sides(part), at.target] });
    }
    if (!pictures || REPLACED.has(tag) || isPage(element) || !isLarge(box)) return;
    const behind = tag === 'svg' ? pictureOf(element, tag) : backgroundOf(element, style);
    if (behind > 0) picture(element, behind, box, at, '');
  };
  const contents = (element, tag, style, box, at) => {
    if (isField(element) || tag === 'select') {
      if (!at.isVisible) return;
      const { color, flags } = inkOf(style, at);
      // The marks of ticked boxes may be wider than the boxes.
      const isSign = glyphs[typeOf(element)] && tag === 'input';
      const narrow = isSign ? at : { ...at, clip: intersect(at.clip, box) };
      const place = placeField(element, style, box, [width, height], (x, middle, what, isFaint) =>
        text(narrow, x, middle, what, color, flags | (isFaint ? FAINT : 0)));
      if (place) caret = place;
    } else if (tag === 'iframe' || tag === 'frame') {
      if (at.isVisible) frameOf(element, style, box, at);
    } else if (REPLACED.has(tag)) {
      if (at.isVisible) replaced(element, tag, style, box, at);
    } else if (tag === 'hr') {
      add(at.layer, { l: [sides(intersect(box, at.clip)), colorOf(style)] });
    } else if (style.contentVisibility === 'hidden') {
      return;
    } else if (tag === 'details' && !element.open) {
      const summary = query(element, ':scope > summary')[0];
      if (summary) enter(summary, at);
    } else {
      const shadow = shadowOf(element);
      if (shadow) {
        fitRoot(shadow);
        see(shadow);
        inside(shadow, style, at);
      } else if (tag === 'slot' && element.assignedNodes().length > 0) {
        for (const node of element.assignedNodes().slice(0, 500)) {
          if (isElement(node)) enter(node, at);
          else if (node.nodeType === Node.TEXT_NODE && at.isVisible) {
            const ink = inkOf(style, at);
            placeText(node, ink.transform, at.clip, width, (x, middle, what) =>
              text(at, x, middle, what, ink.color, ink.flags));
          }
        }
      } else inside(element, style, at);
    }
  };

  readSheets(document);
  const start = {
    clip: view, holder: view, layer: ground, target: -1, pointer: 'auto', isVisible: true, isUnderlined: false,
  };
  const page = document.documentElement;
  const back = [page, document.body].filter(Boolean).map((it) => groundOf(getComputedStyle(it)))
    .find((it) => opacityOf(it) > 12) ?? pack('rgb(255, 255, 255)');
  enter(page, start);
  // The traversal has already passed an element that is displayed outside its ancestors.
  const fetchStray = (found) => {
    if (!found || met.has(found)) return;
    let top = null;
    for (let up = found; up && !met.has(up); up = parentOf(up) ?? rootOf(up).host ?? null) {
      forced.add(up);
      top = up;
    }
    // The lowest one in the path was left out because of its position.
    const outer = top && parentOf(top);
    const isPart = outer && outer !== page && outer !== document.body;
    if (isPart) forced.add(outer);
    const layer = { z: 1, ops: [], above: [] };
    ground.above.push(layer);
    if (top) enter(isPart ? outer : top, { ...start, layer });
    if (strays.size < STRAYS_MAX) strays.add(found);
    met.add(found);
  };
  for (const stray of strays) {
    const box = boxOf(stray);
    if (!isConnected(stray) || isNothing(intersect(box, view))) strays.delete(stray);
    else fetchStray(stray);
  }
  // Such elements are found by probing points, which takes long on long pages: some points are
  // probed now, the others in later frames.
  const until = performance.now() + LOOKING_MS;
  for (let left = PLACES; left > 0 && performance.now() < until; left -= 1) {
    place = (place + 37) % PLACES;
    const [column, row] = [place % 12, Math.floor(place / 12)];
    fetchStray(deepest(((column + 0.5) * view.right) / 12, ((row + 0.5) * view.bottom) / 8));
  }

  const ops = [];
  const flatten = (layer) => {
    layer.above.sort((a, b) => a.z - b.z);
    layer.above.filter((it) => it.z < 0).forEach(flatten);
    ops.push(...layer.ops);
    layer.above.filter((it) => it.z >= 0).forEach(flatten);
  };
  flatten(ground);
  const selection = getSelection();
  if (selection && selection.type === 'Range' && !isField(deepActive() ?? document.body)) {
    for (const box of Array.from(selection.getRangeAt(0).getClientRects()).slice(0, 200)) {
      const part = intersect(box, view);
      if (!isNothing(part)) ops.push({ s: sides(part) });
    }
  }
  const focus = focusKind();
  // A focused element without a caret is drawn as selected.
  const active = focus.kind === 'control' ? deepActive() : null;
  for (const box of active ? Array.from(boxesOf(active)).slice(0, 20) : []) {
    const part = intersect(box, view);
    if (!isNothing(part)) ops.push({ s: sides(part) });
  }
  if (focus.kind === 'text' && !caret && selection?.rangeCount > 0) {
    const box = selection.getRangeAt(0).getClientRects()[0];
    if (box) caret = [box.left, (box.top + box.bottom) / 2];
  }
  places = new WeakMap();
  return {
    ops,
    back,
    title: title(),
    targets: targets.map(({ kind, number, options }) => ({ kind, number, options })),
    caret: caret && caret.map(round),
    focus: focus.kind ?? null,
    inner: focus.inner ?? null,
    scroll: scrolled(),
  };
};

Object.assign(globalThis.waypost, { frame });
