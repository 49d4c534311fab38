// The position of the page's text, line by line.

const measure = document.createRange();
const boxOfRange = method(Range.prototype, 'getBoundingClientRect');
const boxesOfRange = method(Range.prototype, 'getClientRects');
const part = (node, from, to) => {
  measure.setStart(node, from);
  measure.setEnd(node, to);
  return measure;
};
// In longer texts, the visible part is searched for.
const LONG = 600;

// The first position in a long text that is not above the view.
const firstInView = (node, text, top) => {
  let [low, high] = [0, text.length];
  while (high - low > LONG / 4) {
    const middle = (low + high) >> 1;
    const next = /\S/.exec(text.slice(middle, middle + 4000));
    const at = next ? middle + next.index : high;
    if (at >= high) {
      high = middle;
      continue;
    }
    if (boxOfRange(part(node, at, at + 1)).bottom < top) low = at;
    else high = middle;
  }
  return low;
};

const cased = {
  uppercase: (text) => text.toUpperCase(),
  lowercase: (text) => text.toLowerCase(),
  capitalize: (text) => text.replace(/(^|\s)\S/gu, (it) => it.toUpperCase()),
};

// Calls `put(x, middle, text)` for each piece of a text inside `clip`; a piece is a run on one line
// without gaps.
const placeText = (node, transform, clip, width, put) => {
  const data = node.data;
  const change = cased[transform] ?? ((text) => text);
  let run = null;
  const end = () => {
    if (run) put(run.x, run.middle, change(run.text));
    run = null;
  };
  const add = (box, text, isWord) => {
    const middle = (box.top + box.bottom) / 2;
    const gap = run === null ? NaN : box.left - run.right;
    const isSame = run !== null && Math.abs(middle - run.middle) < 2;
    if (isSame && isWord && Math.abs(gap - width) < width * 0.4) run.text += ` ${text}`;
    else if (isSame && Math.abs(gap) < width * 0.4) run.text += text;
    else {
      end();
      run = { x: box.left, middle, text };
    }
    run.right = box.right;
    return middle;
  };
  // A word, or a part of one, that is broken over lines is halved until none of its parts is.
  const word = (from, to, isWord) => {
    const boxes = boxesOfRange(part(node, from, to));
    if (boxes.length === 0) return -Infinity;
    if (boxes.length === 1 || to - from < 2) return add(boxes[0], data.slice(from, to), isWord);
    let middle = (from + to) >> 1;
    if (/[\udc00-\udfff]/.test(data[middle])) middle += 1;
    if (middle >= to) return add(boxes[0], data.slice(from, to), isWord);
    word(from, middle, isWord);
    return word(middle, to, false);
  };
  const words = /\S{1,64}/g;
  words.lastIndex = data.length > LONG ? firstInView(node, data, clip.top) : 0;
  let before = -1;
  for (let found = words.exec(data); found; found = words.exec(data)) {
    const from = found.index;
    const middle = word(from, from + found[0].length, from !== before);
    before = words.lastIndex;
    if (middle > clip.bottom) break;
  }
  end();
};
