// Pairs of memories that say nearly the same, or different things about the same subject.

import { get, post, query as withQuery, session } from "./api.js";
import { act, button, chip, confirm, during, empty, fill, fixed, h, heading, memoryLink, say, stored, time } from "./dom.js";
import { changes } from "./diff.js";

const PAGE = 20;
const NAMES = { duplicate: "near-duplicate", updates: "update", contradicts: "contradiction" };

export const title = () => "Conflicts";

export async function show(main, { signal }) {
  const results = h("section", { "aria-label": "Suggestions" });
  fill(main, heading("Conflicts and near-duplicates"),
    h("p.lead", {}, "Pairs of memories about the same subject. Nothing changes without you: merge a pair, link it, or dismiss it. Any link settles a pair."),
    results);
  const page = (before) => during(results, "Comparing memories…", async () => {
    const { suggestions, truncated, next } = await get(withQuery("/api/memory/suggestions", { limit: PAGE, before }), signal);
    const more = truncated && suggestions.length === PAGE;
    return [
      suggestions.length === 0 && empty(next ? "None among the memories compared so far." : "No pair needs a decision."),
      h("ul.cards", {}, await Promise.all(suggestions.map((it) => pair(it, signal)))),
      h("nav.pager", { "aria-label": "Pages" },
        before && button("From the start", () => page()),
        more && button("Show the next pairs", () => page(before)),
        next && button("Compare older memories", () => page(next))),
    ];
  });
  await page();
}

async function pair(it, signal) {
  const [newer, older] = await Promise.all([it.from, it.to].map((id) => get(`/api/memory/${id}`, signal)));
  const card = h("li.card");
  const settled = (text) => {
    fill(card, h("p.muted", { tabIndex: -1 }, text));
    card.firstChild.focus();
    say(text);
  };
  const connect = (kind, text) => async () => {
    await post("/api/memory/link", { from: it.from, to: it.to, type: kind });
    settled(text);
  };
  const merge = (into, from) => async () => {
    const isSure = await confirm(`Merge into #${into.id}?`, h("div", {},
      h("p", {}, memoryLink(into.id, into.title), " stays as it is and gets the links of ", memoryLink(from.id, from.title), ", which is deleted.")), "Merge", true);
    if (!isSure) return;
    await post("/api/memory/merge", { into: into.id, from: from.id });
    settled(`Merged #${from.id} into #${into.id}.`);
  };
  const isDuplicate = it.type === "duplicate";
  return fill(card,
    h("p.meta", {}, chip(NAMES[it.type] ?? it.type, "warn"), h("span", {}, `similarity ${fixed(it.score, 2)}`), stored(it.reason)),
    h("div.pair", {}, side("Newer", newer), side("Older", older)),
    older.content !== newer.content && h("details", {}, h("summary", {}, "Compare the texts"), changes(older.content, newer.content, "From the older to the newer text")),
    session.may("memory:write") && h("div.actions", {},
      act("Keep the newer", merge(newer, older), isDuplicate ? "primary" : ""),
      act("Keep the older", merge(older, newer)),
      !isDuplicate && act("Newer supersedes older", connect("updates", `#${it.from} supersedes #${it.to}.`), "primary"),
      !isDuplicate && act("They contradict", connect("contradicts", `Linked #${it.from} and #${it.to} as contradicting.`)),
      act("Dismiss", connect("related_to", `Dismissed: #${it.from} and #${it.to} are linked as related.`), "quiet")));
}

function side(label, memory) {
  return h("article", { "aria-label": `${label} memory` },
    h("h2", {}, memoryLink(memory.id, memory.title)),
    h("p.meta", {}, label, time(memory.createdAt), chip(memory.type)),
    h("p.snippet", {}, stored(memory.content.length > 600 ? `${memory.content.slice(0, 600)}…` : memory.content)));
}
