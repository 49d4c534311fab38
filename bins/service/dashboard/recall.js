// What was injected into sessions, what was withheld, and why.

import { Problem, ask, part, post, query as withQuery } from "./api.js";
import { button, chip, during, empty, facts, field, fill, fixed, folded, h, heading, input, link, memoryLink, num, percent, plural, row, stored, table, time } from "./dom.js";

const PAGE = 50;

// The words of the API, as sentences.
const MOMENTS = { start: "The session started", prompt: "A prompt", compact: "After a compaction", refused: "A turn was not recorded" };
const PARTS = { pinned: "it is pinned", decision: "a recent decision", thread: "an earlier session ended with it", task: "it fits what was done last", answer: "it answers the prompt" };
const REASONS = { belowThreshold: "its score is below the threshold", alreadyInjected: "the session already has it", sameSession: "it was said in the session itself", budget: "the text had no space left for it", superseded: "a newer memory updates it" };
const SILENCES = { shortPrompt: "the prompt has fewer than 20 characters", nothingFound: "no memory was found", notAnswerable: "the memory probably has no answer to the prompt", allWithheld: "every memory that was found was left out" };
const REFUSALS = { malformed: "the service cannot read the request with it", tooLarge: "the request with it is too large", invalid: "a field of it is not valid" };
const FATES = { injected: ["injected", "good"], withheld: ["withheld", "warn"], later: ["added later", ""], expired: ["expired since", ""], deleted: ["deleted since", ""], notConsidered: ["not found by any prompt", "warn"] };

export const title = () => "Recall log";

export async function show(main, { query, signal }) {
  const asked = { session: query.get("session") ?? "", memory: query.get("memory") ?? "" };
  const results = h("section", { "aria-label": "Entries" });
  const submit = (event) => {
    event.preventDefault();
    const given = new FormData(event.target);
    location.hash = withQuery("#/recall", { session: given.get("session").trim(), memory: given.get("memory").replace(/\D/g, "") });
  };
  fill(main, heading("Recall log"),
    h("p.lead", {}, "What was injected into each session, what was withheld, and why. The log has ids and scores, no texts."),
    h("form.inline", { onsubmit: submit },
      field("Session", input({ name: "session", value: asked.session })),
      field("Memory", input({ name: "memory", value: asked.memory, inputMode: "numeric", size: 8 })),
      h("button", { type: "submit" }, "Filter")),
    asked.session && explain(asked.session, signal), results);
  await page(results, withQuery("/api/recall", { ...asked, limit: PAGE }), [], signal);
}

function page(place, path, before, signal) {
  return during(place, "Loading…", async () => {
    let entries;
    let next;
    try {
      ({ data: entries, next } = await ask("GET", path, { signal }));
    } catch (error) {
      if (error instanceof Problem && error.status === 404) return empty("This service keeps no recall log.");
      throw error;
    }
    if (!entries.length && !before.length) return empty("No entries. ", h("code", {}, "ctl hook install"), " makes a harness ask for memories at the start of a session and for each prompt.");
    const go = (to, behind) => page(place, to, behind, signal);
    return [
      h("ul.cards", {}, entries.map(entry)),
      (before.length > 0 || next) && h("nav.pager", { "aria-label": "Pages" },
        h("button", { type: "button", disabled: before.length === 0, onclick: () => go(before.at(-1), before.slice(0, -1)) }, "Newer"),
        h("button", { type: "button", disabled: !next, onclick: () => go(next, [...before, path]) }, "Older")),
    ];
  });
}

function entry(it) {
  return h("li.card", {},
    h("p.meta", {}, h("strong", {}, MOMENTS[it.moment] ?? it.moment), time(it.at, true), stored(it.harness),
      link(`#/recall?session=${part(it.session)}`, stored(it.session)), it.space && h("span", {}, "space ", stored(it.space))),
    it.reason && h("p", {}, `Nothing was injected: ${SILENCES[it.reason] ?? it.reason}.`),
    it.refused && h("p", {}, `The service refused the turn before byte ${it.refused.before} of the transcript: ${REFUSALS[it.refused.reason] ?? it.refused.reason}.`),
    facts(
      ["Answerable", it.answerable !== undefined && percent(it.answerable)],
      ["Least score", it.threshold !== undefined && fixed(it.threshold)]),
    it.used.length > 0 && list("Injected", "Why", it.used.map((used) => [used, PARTS[used.part] ?? used.part])),
    it.withheld.length > 0 && folded("details", `${plural(it.withheld.length, "memory", "memories")} withheld`,
      () => list("Withheld", "Why not", it.withheld.map((found) => [found, REASONS[found.reason] ?? found.reason]))));
}

function list(caption, why, rows) {
  return table(caption, [caption, { number: "Score" }, why], rows.map(([it, reason]) =>
    row(h("th", { scope: "row" }, memoryLink(it.id)), num(it.score === undefined ? "–" : fixed(it.score)), reason)));
}

// Answers "why did it not know X".
function explain(session, signal) {
  const place = h("div");
  const submit = (event) => {
    event.preventDefault();
    const query = new FormData(event.target).get("query").trim();
    if (query) during(place, "Looking…", () => why(session, query, signal));
  };
  return h("section.card", { "aria-label": "Why did it not know that?" },
    h("form", { onsubmit: submit },
      field("Why did this session not know that?", h("div.line", {}, input({ name: "query", placeholder: "which port the service listens on", maxLength: 8192 }), button("Explain", (event) => event.target.form.requestSubmit(), "primary")))),
    place);
}

async function why(session, query, signal) {
  const it = await post("/api/recall/why", { session, query }, signal);
  return [
    h("p.meta", {}, h("span", {}, `answerable: ${percent(it.answerable)}`), h("span", {}, `least score: ${fixed(it.threshold)}`), h("span", {}, plural(it.entries, "entry", "entries"))),
    it.hits.length === 0 ? empty("No memory says anything about it.") : table("Memories about it", ["Memory", { number: "Score" }, "What became of it"], it.hits.map((hit) => row(
      h("th", { scope: "row" }, memoryLink(hit.id, hit.title)), num(fixed(hit.score)),
      [chip(...(FATES[hit.fate] ?? [hit.fate])), " ", hit.reason && `${REASONS[hit.reason] ?? hit.reason} `, hit.at && time(hit.at, true)]))),
  ];
}
