// The memories around one, as a picture and as a list of the same.

import { get, query as withQuery } from "./api.js";
import { chip, during, empty, field, fill, first, h, heading, link, memoryLink, number, plural, select } from "./dom.js";

const NODES_MAX = 200;
const STEPS = 260;
const STEPS_PER_FRAME = 4;
// Requests for titles at the same time.
const AT_ONCE = 8;
const DEPTHS = [["1", "1 step"], ["2", "2 steps"], ["3", "3 steps"]];

export const title = ([id]) => `Graph around #${id}`;

export async function show(main, { parts: [id], query, signal }) {
  const depth = query.get("depth") ?? "2";
  const place = h("div");
  const choose = select(DEPTHS, depth, { onchange: (event) => { location.hash = `#/graph/${id}?depth=${event.target.value}`; } });
  fill(main, heading(`Graph around #${id}`, field("Depth", choose), link(`#/memory/${id}`, "The memory")), place);
  await during(place, "Following links…", async () => {
    const links = await get(withQuery(`/api/memory/${id}/links`, { depth }), signal);
    const { nodes, edges, left } = limited(Number(id), links);
    const titles = await named(nodes, signal);
    const canvas = h("canvas", { "aria-hidden": "true" });
    const picture = h("div.graph", {}, canvas);
    requestAnimationFrame(() => new Picture(canvas, nodes, edges, titles, signal).begin());
    return [
      h("div.summary", {}, h("span", {}, plural(nodes.length, "memory", "memories")), h("span", {}, plural(edges.length, "link")),
        left > 0 && h("span.warn", {}, `${number(left)} more not shown: choose fewer steps`)),
      edges.length === 0 ? empty("No links. Add one on the page of the memory.") : picture,
      h("section", {}, h("h2", {}, "The same as a list"), h("ul.rows", {}, first(edges, (it) =>
        h("li", {}, memoryLink(it.from, titles.get(it.from)), " ", chip(it.type), " ", memoryLink(it.to, titles.get(it.to)))))),
    ];
  });
}

// The nearest memories, and the links between them.
function limited(start, links) {
  const distance = new Map([[start, 0]]);
  for (const it of [...links].sort((a, b) => a.depth - b.depth)) {
    for (const id of [it.from, it.to]) if (!distance.has(id)) distance.set(id, it.depth);
  }
  const nodes = [...distance].slice(0, NODES_MAX).map(([id, far]) => ({ id, far }));
  const known = new Set(nodes.map((it) => it.id));
  const edges = links.filter((it) => known.has(it.from) && known.has(it.to));
  return { nodes, edges, left: distance.size - nodes.length };
}

async function named(nodes, signal) {
  const titles = new Map();
  const waiting = nodes.map((it) => it.id);
  const worker = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try { titles.set(id, (await get(`/api/memory/${id}`, signal)).title); } catch (error) { if (error.name === "AbortError") throw error; }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return titles;
}

// A layout by forces: all nodes repel each other, links pull (Fruchterman and Reingold 1991, with
// falling temperature).
class Picture {
  constructor(canvas, nodes, edges, titles, signal) {
    Object.assign(this, { canvas, nodes, titles, signal, left: STEPS });
    const byId = new Map(nodes.map((it) => [it.id, it]));
    this.edges = edges.map((it) => ({ type: it.type, from: byId.get(it.from), to: byId.get(it.to) }));
    // The golden angle spreads the nodes, each distance on a ring of its own; the same each time.
    nodes.forEach((it, idx) => {
      it.x = it.far * Math.cos(idx * 2.39996);
      it.y = it.far * Math.sin(idx * 2.39996);
    });
    canvas.addEventListener("click", (event) => {
      const found = this.at(event);
      if (found) location.hash = `#/memory/${found.id}`;
    });
    canvas.addEventListener("mousemove", (event) => { canvas.style.cursor = this.at(event) ? "pointer" : ""; });
    const observer = new ResizeObserver(() => this.draw());
    observer.observe(canvas);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", () => this.draw(), { signal });
    signal.addEventListener("abort", () => observer.disconnect());
  }

  begin() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      while (this.left > 0) this.step();
      this.draw();
      return;
    }
    const frame = () => {
      if (this.signal.aborted) return;
      for (let idx = 0; idx < STEPS_PER_FRAME && this.left > 0; idx += 1) this.step();
      this.draw();
      if (this.left > 0) requestAnimationFrame(frame);
    };
    frame();
  }

  step() {
    this.left -= 1;
    const heat = 0.1 * (this.left / STEPS) + 0.002;
    for (const it of this.nodes) [it.dx, it.dy] = [-it.x * 0.05, -it.y * 0.05];
    for (let a = 0; a < this.nodes.length; a += 1) {
      for (let b = a + 1; b < this.nodes.length; b += 1) {
        const [one, other] = [this.nodes[a], this.nodes[b]];
        const [x, y] = [one.x - other.x || 0.001 * (a - b), one.y - other.y || 0.001];
        const force = 0.35 / Math.max(x * x + y * y, 0.01);
        one.dx += x * force; one.dy += y * force;
        other.dx -= x * force; other.dy -= y * force;
      }
    }
    for (const { from, to } of this.edges) {
      const [x, y] = [from.x - to.x, from.y - to.y];
      const force = 0.4 * Math.hypot(x, y);
      from.dx -= x * force; from.dy -= y * force;
      to.dx += x * force; to.dy += y * force;
    }
    for (const it of this.nodes) {
      if (it.far === 0) continue;
      const length = Math.hypot(it.dx, it.dy) || 1;
      const move = Math.min(length, heat * 10) / length;
      it.x += it.dx * move;
      it.y += it.dy * move;
    }
  }

  at(event) {
    return this.nodes.find((it) => Math.hypot(it.px - event.offsetX, it.py - event.offsetY) < 10);
  }

  // Spreads the nodes over a side of the picture, without its margins.
  place(from, to, size, margin) {
    const all = this.nodes.map((it) => it[from]);
    const [least, most] = [Math.min(...all), Math.max(...all)];
    const scale = Math.min((size - 2 * margin) / Math.max(most - least, 1), 200);
    for (const it of this.nodes) it[to] = size / 2 + (it[from] - (least + most) / 2) * scale;
  }

  draw() {
    const { canvas } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const dense = devicePixelRatio || 1;
    if (canvas.width !== width * dense || canvas.height !== height * dense) [canvas.width, canvas.height] = [width * dense, height * dense];
    const style = getComputedStyle(canvas);
    const color = (name) => style.getPropertyValue(name).trim();
    const pen = canvas.getContext("2d");
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.place("x", "px", width, 80);
    this.place("y", "py", height, 34);
    pen.lineWidth = 1;
    for (const { from, to, type } of this.edges) {
      pen.strokeStyle = color(type === "contradicts" ? "--bad" : type === "updates" ? "--accent" : "--line-strong");
      pen.setLineDash(type === "related_to" ? [4, 4] : []);
      pen.beginPath();
      pen.moveTo(from.px, from.py);
      pen.lineTo(to.px, to.py);
      pen.stroke();
      pen.setLineDash([]);
      if (type !== "related_to" && type !== "contradicts") this.arrow(pen, from, to);
    }
    const taken = [];
    pen.font = `12px ${style.fontFamily}`;
    pen.textAlign = "center";
    for (const it of this.nodes) {
      pen.fillStyle = color(it.far === 0 ? "--accent" : "--muted");
      pen.beginPath();
      pen.arc(it.px, it.py, it.far === 0 ? 8 : 5, 0, 2 * Math.PI);
      pen.fill();
      const title = this.titles.get(it.id) ?? `#${it.id}`;
      const name = title.length > 22 ? `${title.slice(0, 21)}…` : title;
      const half = pen.measureText(name).width / 2 + 3;
      // The nearest come first; a name that would cover another one is left to the list.
      if (taken.some((that) => Math.abs(that.x - it.px) < that.half + half && Math.abs(that.y - it.py) < 15)) continue;
      taken.push({ x: it.px, y: it.py, half });
      // Lines end where a name begins.
      pen.strokeStyle = color("--surface");
      pen.lineWidth = 4;
      pen.lineJoin = "round";
      pen.strokeText(name, it.px, it.py + 20);
      pen.fillStyle = color("--text");
      pen.fillText(name, it.px, it.py + 20);
    }
  }

  arrow(pen, from, to) {
    const angle = Math.atan2(to.py - from.py, to.px - from.px);
    const [x, y] = [to.px - 8 * Math.cos(angle), to.py - 8 * Math.sin(angle)];
    pen.fillStyle = pen.strokeStyle;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x - 7 * Math.cos(angle - 0.4), y - 7 * Math.sin(angle - 0.4));
    pen.lineTo(x - 7 * Math.cos(angle + 0.4), y - 7 * Math.sin(angle + 0.4));
    pen.fill();
  }
}
