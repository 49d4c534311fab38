// The visible text, and which text was left out because it is invisible.

// Pages use few colours many times.
const colours = new Map();
const numbersIn = (color) => {
  let numbers = colours.get(color);
  if (!numbers) {
    if (colours.size >= 1000) colours.clear();
    numbers = (color.match(/[\d.]+/g) ?? []).map(Number);
    colours.set(color, numbers);
  }
  return numbers;
};
const isSeeThrough = (color) => color === 'transparent' || numbersIn(color)[3] === 0;

// Walks over what is drawn. It stops at any of its limits and reports which one.
const readText = async (options) => {
  const root = options.scope === null ? document.body : nodeOf(options.scope);
  if (root === null && options.scope !== null) return { stale: true };
  const limits = { ...options, until: performance.now() + options.milliseconds };
  const pause = pauses();
  const lines = [];
  const left = {};
  let line = '';
  let length = 0;
  let visited = 0;
  let truncated = null;
  const backgrounds = new WeakMap();

  const backgroundOf = (element) => {
    const chain = [];
    let color = 'rgb(255, 255, 255)';
    for (let at = element; at; at = parentOf(at)) {
      if (backgrounds.has(at)) {
        color = backgrounds.get(at);
        break;
      }
      chain.push(at);
      const own = getComputedStyle(at).backgroundColor;
      if (!isSeeThrough(own)) {
        color = own;
        break;
      }
    }
    for (const at of chain) backgrounds.set(at, color);
    return color;
  };
  // Whether it has a background image, not only a colour.
  const hasPicture = (element) => {
    for (let at = element; at; at = parentOf(at)) {
      const style = getComputedStyle(at);
      if (style.backgroundImage !== 'none') return true;
      if (!isSeeThrough(style.backgroundColor)) return false;
    }
    return false;
  };
  const unseen = (element, style) => {
    if (parseFloat(style.fontSize) < 3) return 'tiny';
    const { color } = style;
    if (isSeeThrough(color)) return 'low_contrast';
    const [a, b] = [numbersIn(color), numbersIn(backgroundOf(element))];
    const far = Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) + Math.abs(a[2] - b[2]);
    if (far < 12 && !hasPicture(element)) return 'low_contrast';
    const box = boxOf(element);
    if (box.right + scrollX <= 0 || box.bottom + scrollY <= 0) return 'off_screen';
    return null;
  };
  const isClipped = (element, style) => {
    if (style.position !== 'absolute' && style.position !== 'fixed') return false;
    if (/inset\((50|100)%/.test(style.clipPath) || /rect\((0|1)px,? /.test(style.clip)) return true;
    const box = boxOf(element);
    return style.overflow !== 'visible' && box.width <= 1 && box.height <= 1;
  };
  const leave = (reason, node) => {
    if (squeeze(textOf(node).slice(0, 400))) left[reason] = (left[reason] ?? 0) + 1;
  };
  const newLine = () => {
    const whole = line.trim();
    if (whole) {
      lines.push(whole);
      length += whole.length + 1;
    }
    line = '';
  };
  const add = (text, style) => {
    if (/[\n\t]| {2}/.test(text) && style.whiteSpace.startsWith('pre')) {
      const [first, ...rest] = text.split('\n');
      line += first;
      for (const next of rest) {
        newLine();
        line = next;
      }
    } else {
      const words = text.replace(/\s+/g, ' ');
      line += line.endsWith(' ') ? words.trimStart() : words;
    }
  };

  // Generators yield where they can pause: awaiting at each element would take longer than
  // examining it.
  function* walk(node, style, reason) {
    const isClosed = node instanceof HTMLDetailsElement && !node.open;
    for (let child = node.firstChild; child; child = child.nextSibling) {
      visited += 1;
      if (visited % 256 === 0) yield;
      if (length + line.length >= limits.characters) truncated ??= 'characters';
      if (visited >= limits.nodes) truncated ??= 'nodes';
      if (visited % 64 === 0 && performance.now() >= limits.until) truncated ??= 'time';
      if (truncated) return;
      if (isClosed && !(isElement(child) && isSummary(child))) {
        if (isElement(child) || child.nodeType === Node.TEXT_NODE) leave('not_displayed', child);
      } else if (child.nodeType === Node.TEXT_NODE) {
        if (reason === null) add(child.data.slice(0, limits.characters + 1), style);
        else if (squeeze(child.data)) left[reason] = (left[reason] ?? 0) + 1;
      } else if (isElement(child)) {
        yield* enter(child);
      }
    }
  }
  let depth = 0;
  function* enter(element) {
    const tag = tagOf(element);
    if (tag === 'br') return newLine();
    if (LEFT_OUT.has(tag) || depth >= limits.depth) return undefined;
    const style = getComputedStyle(element);
    if (style.display === 'none') return leave('not_displayed', element);
    if (style.opacity !== '1' && parseFloat(style.opacity) < 0.05) {
      return leave('transparent', element);
    }
    if (isClipped(element, style)) return leave('clipped', element);
    const isInline = style.display.startsWith('inline') || style.display === 'contents';
    // Formulas are inline, and their parts are side by side, like cells.
    const isCell = style.display === 'table-cell' || style.display === 'math'
      || (style.display === 'block math' && tag !== 'math');
    if (isCell && line && !line.endsWith(' ')) line += ' ';
    else if (!isInline && !isCell) newLine();
    // An element's own text is examined only if there is some.
    let reason = null;
    if (style.visibility !== 'visible') {
      reason = 'not_displayed';
    } else {
      for (let child = element.firstChild; child; child = child.nextSibling) {
        if (child.nodeType === Node.TEXT_NODE && /\S/.test(child.data)) {
          reason = unseen(element, style);
          break;
        }
      }
    }
    depth += 1;
    const shadow = shadowOf(element);
    if (shadow) yield* walk(shadow, style, reason);
    else if (tag === 'slot' && element.assignedNodes().length > 0) {
      for (const node of element.assignedNodes()) {
        if (isElement(node)) yield* enter(node);
        else if (node.nodeType === Node.TEXT_NODE) add(node.data, style);
      }
    } else yield* walk(element, style, reason);
    depth -= 1;
    if (!isInline && !isCell) newLine();
    else if (style.display === 'inline-block' && line) line += ' ';
    return undefined;
  }

  if (isElement(root)) {
    for (const rest of enter(root)) await pause(rest);
  }
  newLine();
  const text = lines.join('\n');
  const isCut = truncated === 'characters' || text.length >= limits.characters;
  // The approximate total length: Chromium computes it much faster than a walk.
  const whole = isCut && isElement(root) ? (root.innerText ?? '').length : 0;
  return {
    text: text.slice(0, limits.characters),
    letters: Math.max(whole, text.length + (isCut ? 1 : 0)),
    cut: truncated !== null || isCut,
    left,
    truncated: isCut ? null : truncated,
  };
};
