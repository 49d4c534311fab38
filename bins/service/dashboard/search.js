// Search with every score explained; without a query, the newest memories.

import { ask, post, query as withQuery, session } from "./api.js";
import { announce, bar, button, check, chip, during, empty, field, fill, fixed, folded, h, heading, input, link, memoryLink, num, number, percent, plural, row, select, stored, table, time } from "./dom.js";

const PAGE = 50;
// Beyond this many results, other words find more than a longer list.
const RESULTS_MAX = 100;
const MODES = [["hybrid", "Words and meaning"], ["lexical", "Words only"], ["semantic", "Meaning only"]];
const SNIPPET = 320;
// From this probability on, an answer was probably found (docs/memory.md).
const ANSWERABLE = 0.5;

const SIGNALS = {
  bm25: "Words in common, rarer ones count more (BM25)",
  semantic: "Similar meaning, by the embedding model",
  cues: "Names, numbers and quoted phrases of the query",
  dates: "The time that the query names",
  recency: "How new it is",
  neighbours: "Matches next to it in its session",
  links: "Matches that are linked with it",
  updates: "It supersedes a match",
  superseded: "A newer memory supersedes it",
  rerank: "Judged by the cross-encoder",
};

export const title = () => "Memories";

export async function show(main, { query, signal }) {
  const asked = read(query);
  const results = h("section", { "aria-label": "Results" });
  fill(main, heading("Memories"), form(asked), results);
  if (asked.query) await during(results, "Searching…", () => find(asked, signal));
  else await newest(results, asked, signal);
}

// What the address asks for.
function read(query) {
  const list = (name) => (query.get(name) ?? "").split(",").map((it) => it.trim()).filter(Boolean);
  return {
    query: query.get("q") ?? "",
    mode: query.get("mode") || undefined,
    limit: Number(query.get("limit")) || undefined,
    type: list("type"),
    tags: list("tags"),
    space: query.get("space") || undefined,
    since: query.get("since") || undefined,
    until: query.get("until") || undefined,
    pinned: query.has("pinned") || undefined,
    includeSuperseded: query.has("superseded") || undefined,
    validAt: query.get("validAt") || undefined,
    asOf: query.get("asOf") || undefined,
    metadata: list("metadata"),
  };
}

const day = (it) => (it ? new Date(`${it}T00:00:00`).toISOString() : undefined);

const moment = (it) => (it ? new Date(it).toISOString() : undefined);

// `key=value` pairs; what is a number or a truth value is one.
function tests(pairs) {
  const found = {};
  for (const pair of pairs) {
    const [key, value = ""] = pair.split(/=(.*)/s);
    found[key] = /^(true|false|-?\d+(\.\d+)?)$/.test(value) ? JSON.parse(value) : value;
  }
  return found;
}

function filters(asked) {
  const metadata = tests(asked.metadata);
  return {
    type: asked.type.length ? asked.type : undefined,
    tags: asked.tags.length ? asked.tags : undefined,
    metadata: Object.keys(metadata).length ? metadata : undefined,
    space: asked.space,
    since: day(asked.since),
    until: day(asked.until),
    pinned: asked.pinned,
  };
}

function form(asked) {
  const isFiltered = Object.values(filters(asked)).some((it) => it !== undefined) || asked.mode || asked.includeSuperseded || asked.validAt || asked.asOf;
  const submit = (event) => {
    event.preventDefault();
    const given = new URLSearchParams();
    for (const [key, value] of new FormData(event.target)) {
      if (String(value).trim() && !(key === "mode" && value === "hybrid")) given.set(key, String(value).trim());
    }
    const next = `#/search${given.size ? `?${given}` : ""}`;
    if (next === location.hash) dispatchEvent(new HashChangeEvent("hashchange"));
    else location.hash = next;
  };
  return h("form.search", { onsubmit: submit, role: "search" },
    h("div.line", {},
      h("input", { type: "search", id: "query", name: "q", value: asked.query, placeholder: "Search memories", "aria-label": "Search memories", "aria-keyshortcuts": "/", autocomplete: "off", maxLength: 8192 }),
      h("button.primary", { type: "submit" }, "Search")),
    h("details", { open: Boolean(isFiltered) }, h("summary", {}, "Filters"),
      h("div.filters", {},
        field("Rank by", select(MODES, asked.mode ?? "hybrid", { name: "mode" })),
        field("Type", input({ name: "type", value: asked.type.join(","), placeholder: "decision,note" }), "any of these"),
        field("Tags", input({ name: "tags", value: asked.tags.join(","), placeholder: "api,release" }), "all of these"),
        field("Metadata", input({ name: "metadata", value: asked.metadata.join(","), placeholder: "source=wiki" }), "all of these"),
        field("Space", input({ name: "space", value: asked.space ?? "" })),
        field("Since", h("input", { type: "date", name: "since", value: asked.since ?? "" })),
        field("Before", h("input", { type: "date", name: "until", value: asked.until ?? "" })),
        field("In force at", h("input", { type: "datetime-local", name: "validAt", value: asked.validAt ?? "" })),
        field("Known at", h("input", { type: "datetime-local", name: "asOf", value: asked.asOf ?? "" }), "with the words of then"),
        h("div.checks", {},
          check("Pinned only", { name: "pinned", value: "1", checked: Boolean(asked.pinned) }),
          check("Superseded ones, too", { name: "superseded", value: "1", checked: Boolean(asked.includeSuperseded) })))));
}

async function find(asked, signal) {
  const limit = Math.min(asked.limit ?? 10, RESULTS_MAX);
  const began = performance.now();
  const { data: hits, headers } = await ask("POST", "/api/memory/search", {
    body: { ...filters(asked), query: asked.query, mode: asked.mode, limit, includeSuperseded: asked.includeSuperseded, validAt: moment(asked.validAt), asOf: moment(asked.asOf), explain: true },
    signal,
  });
  const took = performance.now() - began;
  const mode = headers.get("waypost-search-mode");
  const answerable = headers.get("waypost-answerable");
  const more = hits.length === limit && limit < RESULTS_MAX;
  announce(plural(hits.length, "result"));
  return [
    h("div.summary", {},
      h("span", {}, plural(hits.length, "result")),
      h("span", {}, MODES.find((it) => it[0] === mode)?.[1] ?? mode),
      h("span", {}, `${Math.round(took)} ms`),
      answerable !== null && verdict(Number(answerable))),
    hits.length === 0 && empty("No memory matches. Fewer filters or other words may find one."),
    h("ol.hits", {}, hits.map((it, idx) => hit(it, idx))),
    more && h("div.pager", {}, button("More results", () => {
      const given = new URLSearchParams(location.hash.split("?")[1]);
      given.set("limit", Math.min(limit * 2, RESULTS_MAX));
      location.hash = `#/search?${given}`;
    })),
  ];
}

function verdict(answerable) {
  const isLikely = answerable >= ANSWERABLE;
  return h(`span.verdict.${isLikely ? "good" : "weak"}`, { title: "How likely these results contain an answer" },
    `${isLikely ? "Probably answered" : "Probably not answered"}: ${percent(answerable)}`);
}

function hit(it, idx) {
  return h("li.hit", {},
    h("div.score", {}, h("strong", {}, fixed(it.score, 2)), bar(it.score, `Score ${fixed(it.score, 2)} of 1`)),
    h("article", { "aria-label": `Result ${idx + 1}` },
      h("h2", {}, memoryLink(it.id, it.title)),
      meta(it),
      h("p.snippet", {}, marked(cut(it.content, SNIPPET), it.scores?.terms ?? [])),
      it.scores && folded("details.why", "Why this score", () => why(it))));
}

const cut = (text, length) => (text.length > length ? `${text.slice(0, length)}…` : text);

// The words that begin with a term of the query are marked: terms are stems.
function marked(text, terms) {
  const stems = terms.filter((it) => it.length > 2).map((it) => it.toLowerCase());
  if (!stems.length) return stored(text);
  const pieces = text.split(/([\p{L}\p{N}_]+)/u).map((piece, at) =>
    at % 2 && stems.some((it) => piece.toLowerCase().startsWith(it)) ? h("mark", {}, piece) : piece);
  return h("span.stored", {}, pieces);
}

export function meta(it) {
  return h("p.meta", {},
    chip(it.type), it.pinned && chip("pinned", "accent"),
    it.tags?.map((tag) => h("span.tag", {}, stored(tag))),
    it.space !== "default" && h("span", {}, "space ", stored(it.space)),
    time(it.createdAt),
    it.supersededBy && h("span.warn", {}, "superseded by ", link(`#/memory/${it.supersededBy}`, `#${it.supersededBy}`)),
    it.contradicts?.length > 0 && h("span.warn", {}, "contradicts ", it.contradicts.map((id) => [link(`#/memory/${id}`, `#${id}`), " "])),
    it.expiresAt && h("span", {}, "expires ", time(it.expiresAt)));
}

function why(it) {
  const signals = it.scores.signals.map((signal) => row(
    h("th", { scope: "row" }, h("code", {}, signal.name), h("span.muted.small", {}, SIGNALS[signal.name] ?? "")),
    num(fixed(signal.value)), num(signal.rank ? number(signal.rank) : "–"), num(fixed(signal.weight, 2))));
  return [
    table(`Signals of #${it.id}`, ["Signal", { number: "Value" }, { number: "Rank" }, { number: "Weight" }], signals),
    it.scores.terms.length > 0 && h("p.meta", {}, "Matched terms: ", it.scores.terms.map((term) => h("span.tag", {}, stored(term)))),
    it.scores.explanation && h("details", {}, h("summary", {}, "Computation"), h("ul.tree", {}, step(it.scores.explanation))),
    it.links?.length > 0 && h("p.meta", {}, "Links: ", it.links.map((edge) => h("span", {}, memoryLink(edge.from), ` ${edge.type} `, memoryLink(edge.to)))),
  ];
}

function step(it) {
  return h("li", {}, h("span.value", {}, fixed(it.value, 4)), " ", stored(it.description),
    it.children?.length > 0 && h("ul", {}, it.children.map(step)));
}

// The newest memories, a page at a time.
async function newest(place, asked, signal) {
  const given = filters(asked);
  const base = { ...given, order: "newest", limit: PAGE, metadata: given.metadata && JSON.stringify(given.metadata) };
  const before = [];
  let total;
  const page = (after) => during(place, "Loading…", async () => {
    const path = withQuery("/api/memory", { ...base, after });
    total ??= post("/api/memory/count", given, signal);
    const [{ data, next }, { count }] = await Promise.all([ask("GET", path, { signal }), total]);
    const first = before.length * PAGE;
    return [
      h("div.summary", {}, h("span", {}, `${plural(count, "memory", "memories")}, the newest first`)),
      count === 0 && empty(session.may("memory:write") ? ["Nothing is stored yet. ", h("code", {}, "ctl add 'a fact'"), " adds a memory."] : "Nothing is stored here."),
      h("ul.hits.plain", {}, data.map((it) => h("li.hit", {}, h("article", {},
        h("h2", {}, memoryLink(it.id, it.title)), meta(it),
        it.content.trim() !== it.title.trim() && h("p.snippet", {}, stored(cut(it.content, 200))))))),
      count > PAGE && h("nav.pager", { "aria-label": "Pages" },
        h("button", { type: "button", disabled: before.length === 0, onclick: () => page(before.pop()) }, "Newer"),
        h("span", {}, `${number(first + 1)} to ${number(first + data.length)}`),
        h("button", { type: "button", disabled: !next, onclick: () => { before.push(after); page(data.at(-1).id); } }, "Older")),
    ];
  });
  await page();
}
