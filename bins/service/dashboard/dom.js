// Elements, formats and dialogs. Text reaches the page through textContent only.

// h("a.name", {href: "#/"}, "text", otherElement): an element with a class, properties and children.
export function h(kind, properties = {}, ...children) {
  const [name, ...classes] = kind.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && key !== "list" && key !== "form") element[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

const numbers = new Intl.NumberFormat("en-US");
export const number = (it) => numbers.format(it);
export const plural = (count, noun, many = `${noun}s`) => `${number(count)} ${count === 1 ? noun : many}`;
export const fixed = (it, digits = 3) => Number(it).toFixed(digits);
export const percent = (it) => `${Math.round(it * 100)} %`;

const pad = (it) => String(it).padStart(2, "0");

// A time in the reader's zone; the title has it in UTC.
export function time(text, withSeconds = false) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return String(text);
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  const clock = `${pad(at.getHours())}:${pad(at.getMinutes())}`;
  const shown = `${day} ${clock}${withSeconds ? `:${pad(at.getSeconds())}` : ""}`;
  return h("time", { dateTime: text, title: `${text} (UTC)` }, shown);
}

export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

export function span(seconds) {
  const [days, hours, minutes] = [86400, 3600, 60].map((it) => Math.floor(seconds / it));
  if (days) return `${days} d ${hours % 24} h`;
  if (hours) return `${hours} h ${minutes % 60} min`;
  if (minutes) return `${minutes} min`;
  return `${Math.floor(seconds)} s`;
}

// Stored text: its direction does not affect what is around it.
export const stored = (text, kind = "span") => h(`${kind}.stored`, {}, text);

export const chip = (text, kind = "") => h(`span.chip${kind && `.${kind}`}`, {}, text);

export function bar(share, label) {
  const inner = h("span");
  inner.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return h("span.bar", { role: "img", "aria-label": label }, inner);
}

export const link = (href, ...text) => h("a", { href }, ...text);
export const memoryLink = (id, title) =>
  link(`#/memory/${id}`, h("span.id", {}, `#${id}`), title ? [" ", stored(title)] : "");

export function button(text, onclick, kind = "") {
  return h(`button${kind && `.${kind}`}`, { type: "button", onclick }, text);
}

export function field(label, control, hint) {
  return h("label.field", {}, h("span.label", {}, label), control, hint && h("span.hint", {}, hint));
}

export const input = (properties) => h("input", { type: "text", autocomplete: "off", ...properties });

export function select(options, chosen, properties = {}) {
  const list = options.map((it) => {
    const [value, text] = Array.isArray(it) ? it : [it, it];
    return h("option", { value, selected: value === chosen }, text);
  });
  return h("select", properties, list);
}

export function check(label, properties) {
  return h("label.check", {}, h("input", { type: "checkbox", ...properties }), label);
}

export function table(caption, heads, rows) {
  const head = heads.map((it) => h(it.number ? "th.num" : "th", { scope: "col" }, it === "" ? h("span.hidden", {}, "Actions") : it.number ?? it));
  const body = h("tbody", {}, rows);
  return h("div.scroll", { tabIndex: 0, role: "group", "aria-label": caption },
    h("table", {}, h("caption.hidden", {}, caption), h("thead", {}, h("tr", {}, head)), body));
}

export const row = (...cells) =>
  h("tr", {}, cells.map((it) => (it instanceof Element && /^T[DH]$/.test(it.tagName) ? it : h("td", {}, it))));
export const num = (...content) => h("td.num", {}, ...content);

export function facts(...pairs) {
  const rows = pairs.filter(([, value]) => value !== undefined && value !== null && value !== false && value !== "");
  return h("dl.facts", {}, rows.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

export const empty = (...text) => h("p.empty", {}, ...text);
export const heading = (title, ...beside) =>
  h("div.heading", {}, h("h1", { tabIndex: -1 }, title), h("div.beside", {}, ...beside));

// Says something to everybody: a line at the bottom, which screen readers announce.
let said;
export const say = (text, isError = false) => tell(text, isError ? "bad" : "");
// The same for screen readers only: others see it anyway.
export const announce = (text) => tell(text, "quiet");

function tell(text, kind) {
  const line = document.getElementById("said");
  line.className = kind;
  line.textContent = text;
  clearTimeout(said);
  said = setTimeout(() => { line.textContent = ""; }, kind === "bad" ? 12000 : 5000);
}

// What went wrong, where it belongs.
export function failure(error) {
  const fields = (error.errors ?? []).map((it) => h("li", {}, h("code", {}, it.pointer), " ", it.message));
  return h("div.problem", { role: "alert" }, h("p", {}, error.message), fields.length > 1 && h("ul", {}, fields));
}

// A part that is made when a reader opens it.
export function folded(kind, summary, content) {
  const place = h("div");
  const it = h(kind, { ontoggle: () => { if (it.open && !place.firstChild) fill(place, content()); } }, h("summary", {}, summary), place);
  return it;
}

// The first of a long list, and how many more there are.
export const ROWS_MAX = 200;
export function first(list, show) {
  const left = list.length - ROWS_MAX;
  return [list.slice(0, ROWS_MAX).map(show), left > 0 && h("li.muted", {}, `${number(left)} more are not shown here.`)];
}

// Shows `text` while work goes on, then its result or what went wrong, below `title` if that is given.
export async function during(place, text, work, title) {
  const wait = h("p.busy", { role: "status" }, text);
  // Quick answers do not flicker.
  const later = setTimeout(() => fill(place, wait), 150);
  place.setAttribute("aria-busy", "true");
  try {
    const content = await work();
    if (content !== undefined) fill(place, content);
  } catch (error) {
    if (error.name !== "AbortError") fill(place, title && heading(title), failure(error));
  } finally {
    clearTimeout(later);
    place.removeAttribute("aria-busy");
  }
}

// Asks for a confirmation; returns whether it was given.
export function confirm(title, content, action, isDangerous = false) {
  return new Promise((resolve) => {
    const close = (answer) => { dialog.close(); dialog.remove(); resolve(answer); };
    const dialog = h("dialog", { "aria-labelledby": "dialog-title", oncancel: () => close(false) },
      h("h2", { id: "dialog-title" }, title), content,
      h("div.actions", {},
        button("Cancel", () => close(false)),
        button(action, () => close(true), isDangerous ? "danger" : "primary")));
    document.body.append(dialog);
    dialog.showModal();
    addEventListener("hashchange", () => close(false), { once: true });
  });
}

// A button that runs something once at a time and reports its outcome.
export function act(text, work, kind = "") {
  const it = button(text, async () => {
    it.disabled = true;
    try {
      await work();
    } catch (error) {
      say(error.message, true);
    } finally {
      it.disabled = false;
    }
  }, kind);
  return it;
}

// Characters that a reader cannot see, or that change how others are shown, as escapes.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\u{e0000}-\u{e0fff}]/gu;
export const visible = (line) =>
  line.replace(HIDDEN, (it) => `\\u{${it.codePointAt(0).toString(16)}}`)
    .replace(/[ \t]+$/, (it) => it.replaceAll(" ", "·").replaceAll("\t", "→"));
