// One memory: its fields, links, versions, and what can be done with it.

import { Problem, get, patch, post, query as withQuery, remove, session } from "./api.js";
import { act, button, check, chip, confirm, during, empty, facts, field, fill, first, folded, h, heading, input, link, memoryLink, say, select, stored, time } from "./dom.js";
import { changes } from "./diff.js";
import { meta } from "./search.js";

export const LINKS = ["related_to", "updates", "contradicts", "caused_by", "part_of"];
// Memories whose titles are shown beside links.
const TITLES_MAX = 60;

export const title = ([id]) => `Memory #${id}`;

export async function show(main, { parts, signal }) {
  const [id] = parts;
  const place = h("div");
  fill(main, place);
  const again = () => during(place, "Loading…", () => page(id, signal, again), title(parts));
  await again();
}

async function page(id, signal, again) {
  const path = `/api/memory/${id}`;
  const history = get(`${path}/history`, signal);
  // It may fail before it is awaited.
  history.catch(() => {});
  let memory;
  try {
    memory = await get(path, signal);
  } catch (error) {
    if (!(error instanceof Problem && error.status === 404)) throw error;
    const versions = await history.catch(() => { throw error; });
    return gone(id, versions, again);
  }
  const [versions, links, { suggestions }] = await Promise.all([
    history, get(`${path}/links`, signal), get(withQuery("/api/memory/suggestions", { id, limit: 5 }), signal),
  ]);
  const titles = await named(links, memory, signal);
  const body = h("div");
  const read = () => fill(body, text(memory));
  read();
  const canWrite = session.may("memory:write");
  return [
    heading([h("span.id", {}, `#${memory.id} `), stored(memory.title)],
      canWrite && [
        button("Edit", () => fill(body, edit(memory, again, read))),
        act(memory.pinned ? "Unpin" : "Pin", async () => {
          await patch(path, { pinned: !memory.pinned });
          say(memory.pinned ? "Unpinned." : "Pinned: it does not expire and comes first in a context.");
          again();
        }),
        act("Delete", () => erase(memory, again), "danger"),
      ],
      link(`#/recall?memory=${memory.id}`, "Recall log"), link(`#/graph/${memory.id}`, "Graph")),
    memory.supersededBy && h("p.banner", {}, "Superseded by ", memoryLink(memory.supersededBy, titles.get(memory.supersededBy)), ". Searches rank the newer one higher."),
    meta(memory), body,
    facts(
      ["Space", stored(memory.space)],
      ["Session", memory.session && stored(memory.session)],
      ["Created", time(memory.createdAt, true)],
      ["Updated", time(memory.updatedAt, true)],
      ["Valid from", memory.validFrom && time(memory.validFrom)],
      ["Valid until", memory.validUntil && time(memory.validUntil)],
      ["Expires", memory.expiresAt && time(memory.expiresAt)],
      ["Semantic search", memory.embedded ? "finds it" : "does not find it yet: it has no vector"],
      ...Object.entries(memory.metadata ?? {}).map(([key, value]) => [stored(key), stored(String(value))])),
    suggestions.length > 0 && h("section", {}, h("h2", {}, "Similar memories"), h("ul.rows", {}, suggestions.map((it) => {
      const other = it.from === memory.id ? [it.to, it.toTitle] : [it.from, it.fromTitle];
      return h("li", {}, chip(it.type, "warn"), " ", memoryLink(...other), " ", h("span.muted", {}, stored(it.reason)), " ", link("#/conflicts", "resolve"));
    }))),
    h("section", {}, h("h2", {}, "Links"), edges(memory, links, titles, canWrite, again)),
    h("section", {}, h("h2", {}, "Versions"), past(memory.id, versions, canWrite, again)),
  ];
}

const text = (memory) => h("pre.content.stored", { tabIndex: 0, "aria-label": "Content" }, memory.content);

async function named(links, memory, signal) {
  const titles = new Map([[memory.id, memory.title]]);
  const ids = new Set(links.flatMap((it) => [it.from, it.to]));
  if (memory.supersededBy) ids.add(memory.supersededBy);
  ids.delete(memory.id);
  await Promise.all([...ids].slice(0, TITLES_MAX).map(async (id) => {
    try { titles.set(id, (await get(`/api/memory/${id}`, signal)).title); } catch { /* only its id is shown */ }
  }));
  return titles;
}

function edges(memory, links, titles, canWrite, again) {
  const one = (it) => {
    const isFrom = it.from === memory.id;
    const other = isFrom ? it.to : it.from;
    return h("li", {}, isFrom ? "" : [memoryLink(other, titles.get(other)), " "], chip(it.type),
      isFrom ? [" ", memoryLink(other, titles.get(other))] : h("span.muted", {}, " this one"), " ", time(it.createdAt),
      canWrite && act("Remove", async () => {
        await remove(withQuery("/api/memory/link", { from: it.from, to: it.to, type: it.type }));
        say("Removed the link.");
        again();
      }, "quiet"));
  };
  const to = input({ inputMode: "numeric", pattern: "#?[0-9]+", required: true, size: 8 });
  const kind = select(LINKS, "related_to");
  const add = h("form.inline", { onsubmit: async (event) => {
    event.preventDefault();
    try {
      await post("/api/memory/link", { from: memory.id, to: Number(to.value.replace("#", "")), type: kind.value });
      say("Added the link.");
      again();
    } catch (error) { say(error.message, true); }
  } }, field("This memory", kind), field("Memory, by number", to), h("button", { type: "submit" }, "Add link"));
  return [links.length ? h("ul.rows", {}, first(links, one)) : empty("No links."), canWrite && add];
}

function past(id, versions, canWrite, again) {
  const newest = versions.length - 1;
  const one = (it) => {
    const idx = versions.indexOf(it);
    const before = versions[idx - 1]?.memory;
    const summary = [`Version ${it.version}: ${it.change} `, time(it.changedAt, true), idx === newest && h("span.muted", {}, " (current)")];
    const open = folded("details", summary, () => [difference(before, it.memory),
      canWrite && it.memory && idx !== newest && act("Restore this version", async () => {
        await post(`/api/memory/${id}/restore`, { version: it.version });
        say(`Restored version ${it.version} as a new version.`);
        again();
      })]);
    return h("li", {}, it.missingBefore && h("p.warn", {}, `${it.missingBefore} versions before this one were destroyed by damage.`), open);
  };
  return h("ol.rows.versions", { reversed: true }, first([...versions].reverse(), one));
}

function difference(before, memory) {
  if (!memory) return empty("It was deleted.");
  if (!before) return [h("p", {}, stored(memory.title, "strong")), h("pre.content.stored", {}, memory.content)];
  const fields = ["title", "type", "tags", "metadata", "session", "validFrom", "validUntil", "expiresAt", "pinned"];
  const shown = (it) => (it === undefined ? "" : typeof it === "string" ? it : JSON.stringify(it));
  const changed = fields.filter((it) => shown(before[it]) !== shown(memory[it]));
  const isSame = before.content === memory.content;
  return [
    facts(...changed.map((it) => [it, [h("del", {}, stored(shown(before[it]) || "none")), " → ", h("ins", {}, stored(shown(memory[it]) || "none"))]])),
    isSame ? changed.length === 0 && empty("Nothing differs.") : changes(before.content, memory.content, "Changes of the content"),
  ];
}

function gone(id, versions, again) {
  const last = versions.filter((it) => it.memory).at(-1);
  return [
    heading([h("span.id", {}, `#${id} `), last ? stored(last.memory.title) : "Deleted memory"],
      session.may("memory:write") && act("Restore", async () => {
        await post(`/api/memory/${id}/undelete`);
        say("Restored the memory, without its links.");
        again();
      }, "primary")),
    h("p.banner", {}, "This memory is deleted. It can be restored until it is purged."),
    h("section", {}, h("h2", {}, "Versions"), past(id, versions, false, again)),
  ];
}

async function erase(memory, again) {
  const isSure = await confirm(`Delete #${memory.id}?`, h("p", {}, stored(memory.title), ". Searches stop finding it. It can be restored until it is purged."), "Delete", true);
  if (!isSure) return;
  await remove(`/api/memory/${memory.id}`);
  say("Deleted.");
  again();
}

function edit(memory, again, cancel) {
  const it = {
    title: input({ value: memory.title, maxLength: 512 }),
    content: h("textarea", { value: memory.content, rows: Math.min(24, Math.max(6, memory.content.split("\n").length + 1)) }),
    type: input({ value: memory.type, pattern: "[a-z0-9_\\-]{1,64}" }),
    tags: input({ value: memory.tags.join(", ") }),
    metadata: h("textarea.code", { value: JSON.stringify(memory.metadata ?? {}, null, 2), rows: 4, spellcheck: false }),
    session: input({ value: memory.session ?? "" }),
    validFrom: input({ value: memory.validFrom ?? "", placeholder: "2026-11-23T00:00:00Z" }),
    validUntil: input({ value: memory.validUntil ?? "", placeholder: "2026-11-23T00:00:00Z" }),
    expiresAt: input({ value: memory.expiresAt ?? "", placeholder: "2026-11-23T00:00:00Z" }),
  };
  const pinned = check("Pinned", { checked: Boolean(memory.pinned) });
  const save = async (event) => {
    event.preventDefault();
    try {
      const change = changed(memory, it, pinned.querySelector("input").checked);
      if (Object.keys(change).length === 0) return cancel();
      await patch(`/api/memory/${memory.id}`, change);
      say("Saved as a new version.");
      again();
    } catch (error) { say(error.message, true); }
  };
  return h("form.edit", { onsubmit: save },
    field("Title", it.title), field("Content", it.content),
    h("div.filters", {}, field("Type", it.type), field("Tags", it.tags, "separated by commas"), field("Session", it.session),
      field("Valid from", it.validFrom), field("Valid until", it.validUntil), field("Expires", it.expiresAt)),
    field("Metadata", it.metadata, "a JSON object of texts, numbers and truth values"), pinned,
    h("div.actions", {}, button("Cancel", cancel), h("button.primary", { type: "submit" }, "Save")));
}

// The fields that differ.
function changed(memory, it, pinned) {
  const change = {};
  for (const name of ["title", "content", "type"]) {
    if (it[name].value !== memory[name]) change[name] = it[name].value;
  }
  for (const name of ["session", "validFrom", "validUntil", "expiresAt"]) {
    const value = it[name].value.trim() || null;
    if (value !== (memory[name] ?? null)) change[name] = value;
  }
  const tags = it.tags.value.split(",").map((tag) => tag.trim()).filter(Boolean);
  if (tags.join("\n") !== memory.tags.join("\n")) change.tags = tags;
  let metadata;
  try { metadata = JSON.parse(it.metadata.value || "{}"); } catch (error) { throw new Error(`Metadata: ${error.message}`); }
  if (JSON.stringify(metadata) !== JSON.stringify(memory.metadata ?? {})) change.metadata = metadata;
  if (pinned !== Boolean(memory.pinned)) change.pinned = pinned;
  return change;
}
