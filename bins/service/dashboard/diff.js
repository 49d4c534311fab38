// Which lines of a text changed.

import { fill, button, h, plural, visible } from "./dom.js";

// Beyond this many lines that differ, the texts are shown one after the other.
const LINES_MAX = 3000;
// Unchanged lines shown around a change.
const AROUND = 3;
// Lines shown before a reader asks for all.
const SHOWN_MAX = 400;

// The lines of both texts in order, as ["=", line], ["-", line] or ["+", line]: a longest common
// subsequence (Hunt and McIlroy 1976), after equal lines at both ends are set aside.
export function lines(before, after) {
  const [a, b] = [split(before), split(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const [x, y] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const same = (it) => it.map((line) => ["=", line]);
  return [...same(a.slice(0, start)), ...middle(x, y), ...same(a.slice(a.length - end))];
}

const ENDLESS = "\\ no line end";

// The last line needs no line end; that one has none is shown where it matters.
function split(text) {
  if (text === "") return [];
  const found = text.split("\n");
  if (found.at(-1) === "") found.pop();
  return found;
}

// The lines, and whether only one of the texts ends with a line end.
function withEnds(before, after) {
  const all = lines(before, after);
  if (before && after && before.endsWith("\n") !== after.endsWith("\n")) all.push([before.endsWith("\n") ? "+" : "-", ENDLESS]);
  return all;
}

function middle(x, y) {
  if (x.length + y.length > LINES_MAX) return [...x.map((it) => ["-", it]), ...y.map((it) => ["+", it])];
  const width = y.length + 1;
  const length = new Uint16Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i -= 1) {
    for (let j = y.length - 1; j >= 0; j -= 1) {
      length[i * width + j] = x[i] === y[j]
        ? length[(i + 1) * width + j + 1] + 1
        : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < x.length || j < y.length) {
    const isSame = i < x.length && j < y.length && x[i] === y[j];
    const isRemoved = !isSame && (j >= y.length || (i < x.length && length[(i + 1) * width + j] >= length[i * width + j + 1]));
    if (isSame) found.push(["=", x[i]]);
    else found.push(isRemoved ? ["-", x[i]] : ["+", y[j]]);
    if (isSame || isRemoved) i += 1;
    if (isSame || !isRemoved) j += 1;
  }
  return found;
}

// The changes with some lines around them; `isWhole` shows every line.
export function changes(before, after, label, isWhole = false) {
  const all = withEnds(before, after);
  const isNear = all.map(() => isWhole);
  all.forEach(([mark], at) => {
    if (mark === "=") return;
    for (let near = Math.max(0, at - AROUND); near <= Math.min(all.length - 1, at + AROUND); near += 1) isNear[near] = true;
  });
  const place = h("div.diff", { role: "group", "aria-label": label });
  const render = (limit) => {
    const content = [];
    let skipped = 0;
    for (const [at, [mark, line]] of all.entries()) {
      if (content.length >= limit) {
        content.push(button(`Show all ${plural(all.length, "line")}`, () => render(Infinity)));
        break;
      }
      if (!isNear[at]) { skipped += 1; continue; }
      if (skipped) content.push(h("div.skip", {}, `${plural(skipped, "unchanged line")}`));
      skipped = 0;
      const [kind, name, sign] = { "=": ["div", "", " "], "-": ["del", "removed: ", "−"], "+": ["ins", "added: ", "+"] }[mark];
      content.push(h(`${kind}.row`, {}, h("span.hidden", {}, name), h("span.sign", { "aria-hidden": "true" }, sign), visible(line)));
    }
    if (skipped) content.push(h("div.skip", {}, `${plural(skipped, "unchanged line")}`));
    fill(place, content);
  };
  // A reader who decides on a text sees all of it.
  render(isWhole ? Infinity : SHOWN_MAX);
  return place;
}
