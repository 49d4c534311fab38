// The content of fields, and the position of their caret. The content of a secret field is never
// reported.

const BULLET = '•';
const HIDDEN_TYPES = new Set(['hidden']);
const glyphs = { checkbox: ['[ ]', '[x]'], radio: ['( )', '(•)'] };

// The inner area of a box, without its borders and padding.
const insideOf = (style, box) => {
  const sum = (...names) => names.reduce((total, name) => total + (parseFloat(style[name]) || 0), 0);
  return {
    left: box.left + sum('borderLeftWidth', 'paddingLeft'),
    right: box.right - sum('borderRightWidth', 'paddingRight'),
    top: box.top + sum('borderTopWidth', 'paddingTop'),
    bottom: box.bottom - sum('borderBottomWidth', 'paddingBottom'),
  };
};
const isWide = (letter) => /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u.test(letter);
const cellsOf = (text) => Array.from(text).reduce((cells, it) => cells + (isWide(it) ? 2 : 1), 0);

// A text as lines of this many cells, broken at spaces if possible, each with its start position.
const wrap = (text, cells) => {
  const lines = [];
  let begin = 0;
  for (const line of text.split('\n')) {
    let from = 0;
    while (line.length - from > cells) {
      const space = line.lastIndexOf(' ', from + cells);
      const to = space > from ? space + 1 : from + cells;
      lines.push({ text: line.slice(from, to), from: begin + from });
      from = to;
    }
    lines.push({ text: line.slice(from), from: begin + from });
    begin += line.length + 1;
  }
  return lines;
};

const textOfField = (field, type) => {
  if (type === 'file') return Array.from(field.files ?? [], (it) => it.name).join(', ') || 'no file';
  if (field.value === '') return { text: attribute(field, 'placeholder') ?? '', isFaint: true };
  return isSecret(field) ? BULLET.repeat(Math.min(field.value.length, 64)) : field.value;
};
const caretIn = (field) => {
  try {
    return field.selectionEnd ?? field.value.length;
  } catch {
    return field.value.length;
  }
};

// Draws a field with `put(x, middle, text, isFaint)`, and returns the position of the caret if it
// has one.
const placeField = (field, style, box, [width, height], put) => {
  const tag = tagOf(field);
  const type = tag === 'input' ? typeOf(field) : tag;
  const inside = insideOf(style, box);
  const middle = (inside.top + inside.bottom) / 2;
  if (glyphs[type]) {
    put(box.left, (box.top + box.bottom) / 2, glyphs[type][field.checked ? 1 : 0]);
    return null;
  }
  const room = Math.max(1, Math.floor((inside.right - inside.left) / width + 0.2));
  if (tag === 'select') {
    const chosen = Array.from(field.selectedOptions ?? []).map((it) => squeeze(it.label));
    const text = chosen.join(', ').slice(0, 500);
    put(inside.left, tag === 'select' && field.size > 1 ? inside.top + height / 2 : middle, text.slice(0, Math.max(0, room - 2)));
    put(inside.left + Math.max(0, room - 1) * width, middle, '▾');
    return null;
  }
  if (BUTTONS.has(type) || type === 'image') {
    const text = cut(field.value || attribute(field, 'alt') || { submit: 'Submit', reset: 'Reset' }[type] || '', 200);
    put((inside.left + inside.right) / 2 - (cellsOf(text) * width) / 2, middle, text);
    return null;
  }
  const isActive = deepActive() === field;
  if (type === 'range' || type === 'color') {
    put(inside.left, middle, `‹${field.value}›`);
    return null;
  }
  const shown = textOfField(field, type);
  const { text, isFaint } = typeof shown === 'string' ? { text: shown, isFaint: false } : shown;
  const at = isFaint || !isActive ? 0 : Math.min(caretIn(field), text.length);
  if (tag !== 'textarea') {
    // Text that the caret scrolled out of the field is not drawn either.
    const skip = Math.max(Math.round(field.scrollLeft / width), isActive && !isFaint ? at - room + 1 : 0);
    put(inside.left, middle, text.slice(skip, skip + room), isFaint);
    return isActive ? [inside.left + cellsOf(text.slice(skip, at)) * width, middle] : null;
  }
  const lines = wrap(text.slice(0, 20_000), room);
  const first = Math.round(field.scrollTop / height);
  const last = Math.max(1, Math.floor((inside.bottom - inside.top) / height + 0.3));
  let caret = null;
  lines.slice(first, first + last).forEach((line, row) => {
    const y = inside.top + (row + 0.5) * height;
    put(inside.left, y, line.text, isFaint);
    const next = lines[first + row + 1];
    if (isActive && at >= line.from && (!next || at < next.from)) {
      caret = [inside.left + cellsOf(line.text.slice(0, at - line.from)) * width, y];
    }
  });
  return caret;
};
