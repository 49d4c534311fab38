// The text that a reader sees, and what of it was left out because none would.

// Pages have few colours and many places for them.
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

// A walk over what is drawn. It stops at any of its limits and says so; `pause` lets the page run.
const readText = async (roots, limits, pause) => {
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
      const style = getComputedStyle(at);
      if (style.backgroundImage !== 'none') {
        color = null;
        break;
      }
      if (!isSeeThrough(style.backgroundColor)) {
        color = style.backgroundColor;
        break;
      }
    }
    for (const at of chain) backgrounds.set(at, color);
    return color;
  };
  const unseen = (element, style) => {
    if (parseFloat(style.fontSize) < 3) return 'tiny';
    if (isSeeThrough(style.color)) return 'low_contrast';
    const behind = backgroundOf(element);
    if (behind !== null) {
      const [a, b] = [numbersIn(style.color), numbersIn(behind)];
      const far = Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) + Math.abs(a[2] - b[2]);
      if (far < 12) return 'low_contrast';
    }
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
    if (style.whiteSpace.startsWith('pre')) {
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

  // They yield where they can rest: to wait at each element would take longer than to look at it.
  function* walk(node, style, reason) {
    for (let child = node.firstChild; child; child = child.nextSibling) {
      visited += 1;
      if (visited % 256 === 0) yield;
      if (length + line.length >= limits.characters) truncated ??= 'characters';
      if (visited >= limits.nodes) truncated ??= 'nodes';
      if (visited % 64 === 0 && performance.now() >= limits.until) truncated ??= 'time';
      if (truncated) return;
      if (child.nodeType === Node.TEXT_NODE) {
        if (reason === null) add(child.data.slice(0, limits.characters), style);
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
    const isCell = style.display === 'table-cell';
    if (isCell && line && !line.endsWith(' ')) line += ' ';
    else if (!isInline && !isCell) newLine();
    // What is asked of an element's own text is asked only if it has some.
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

  for (const root of roots) {
    if (isElement(root)) {
      for (const rest of enter(root)) await pause(rest);
    }
    newLine();
  }
  return { text: lines.join('\n').slice(0, limits.characters), left, truncated, visited };
};
