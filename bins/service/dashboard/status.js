// The state of the service, spaces, the index, tokens.

import { get, messages, part, post, remove, session } from "./api.js";
import { ROWS_MAX, act, button, bytes, check, chip, confirm, during, empty, facts, field, fill, h, heading, input, link, num, number, row, say, select, span, stored, table, time } from "./dom.js";

const SCOPES = ["memory:read", "memory:write", "context:read", "events:read", "events:publish", "flows:read", "flows:run", "browser:use", "admin"];
const LIFE = [["1", "1 day"], ["30", "30 days"], ["365", "1 year"], ["", "never"]];
const DAY_MS = 86400000;

export const title = () => "Status";

export async function show(main, { signal }) {
  const state = h("div");
  const tokens = h("div");
  fill(main, state, tokens);
  const again = () => during(state, "Loading…", () => service(signal, again), title());
  const list = () => during(tokens, "Loading…", () => access(signal, list));
  await Promise.all([again(), session.may("admin") ? list() : undefined]);
}

async function service(signal, again) {
  const it = await get("/api/memory/status", signal);
  const spaces = Object.entries(it.bySpace).sort((a, b) => b[1] - a[1]);
  const types = Object.entries(it.byType).sort((a, b) => b[1] - a[1]);
  return [
    heading(["Status ", chip(it.status, it.status === "ok" ? "good" : "bad")], act("Refresh", again)),
    it.remedy && h("p.banner", {}, stored(it.remedy)),
    it.pendingApproval?.length > 0 && h("p.banner", {}, "Waiting for approval: ", it.pendingApproval.map((name) => [link(`#/flows/file/${part(name)}`, stored(name)), " "])),
    h("div.columns", {},
      h("section.card", {}, h("h2", {}, "Service"), facts(
        ["Version", it.version], ["Running for", span(it.uptimeSeconds)], ["Address", it.url && h("code", {}, it.url)],
        ["On disk", bytes(it.storageBytes)], ["Mesh", it.mesh && (it.mesh.problem ? stored(it.mesh.problem) : it.mesh.joined ? "joined" : "not joined")])),
      h("section.card", {}, h("h2", {}, "Memories"), facts(
        ["Memories", number(it.memories)], ["Links", number(it.links)], ["With a vector", number(it.embedded)],
        ["Waiting for one", it.pendingEmbeddings > 0 && number(it.pendingEmbeddings)])),
      h("section.card", {}, h("h2", {}, "Model"), facts(
        ["Embedding", stored(it.model.name)], ["State", chip(it.model.state, it.model.state === "ready" ? "good" : "warn")],
        ["Dimensions", it.model.dimensions], ["Downloaded", it.model.fetchedBytes && `${bytes(it.model.fetchedBytes)}${it.model.totalBytes ? ` of ${bytes(it.model.totalBytes)}` : ""}`],
        ["Cross-encoder", it.reranker && [stored(it.reranker.name), " ", chip(it.reranker.state), it.reranker.problem && stored(` ${it.reranker.problem}`)]])),
      h("section.card", {}, h("h2", {}, "Search index"), facts(
        ["Memories", number(it.index.documents)], ["Terms", number(it.index.terms)], ["In memory", bytes(it.index.bytes)],
        ["Not indexed yet", it.index.lacking > 0 && number(it.index.lacking)], ["Rebuilt", it.lastReindexAt && time(it.lastReindexAt)]),
      session.may("memory:write") && rebuild(again))),
    h("div.columns", {}, counted("Spaces", "Space", spaces, (name) => `#/search?space=${part(name)}`), counted("Types", "Type", types, (name) => `#/search?type=${part(name)}`)),
  ];
}

function counted(caption, head, pairs, target) {
  return h("section", {}, h("h2", {}, caption), pairs.length
    ? table(caption, [head, { number: "Memories" }], pairs.slice(0, 100).map(([name, count]) => row(h("th", { scope: "row" }, link(target(name), stored(name))), num(number(count)))))
    : empty("None."));
}

function rebuild(again) {
  const progress = h("progress", { hidden: true, max: 1, value: 0, "aria-label": "Rebuilding the index" });
  const line = h("p.muted.small", { role: "status" });
  return h("div.actions", {}, act("Rebuild", async () => {
    progress.hidden = false;
    for await (const message of messages("POST", "/api/memory/index", { body: { backfill: true } })) {
      const it = message.data ? JSON.parse(message.data) : {};
      if (message.event === "problem") throw new Error(it.detail);
      if (message.event === "progress") {
        if (it.total) [progress.max, progress.value] = [it.total, it.done];
        line.textContent = `${it.phase ?? ""} ${number(it.done ?? 0)}${it.total ? ` of ${number(it.total)}` : ""}`;
      }
      if (message.event === "done") say(`Rebuilt the index: ${number(it.indexed)} memories, ${number(it.embedded)} new vectors.`);
    }
    again();
  }), progress, line);
}

async function access(signal, again) {
  const tokens = (await get("/api/tokens", signal)).reverse();
  const own = session.token.split("_")[1];
  const isOver = (it) => it.revokedAt || (it.expiresAt && new Date(it.expiresAt) <= new Date());
  const ended = tokens.filter(isOver);
  const active = tokens.filter((it) => !isOver(it));
  const one = (it) => row(
    h("th", { scope: "row" }, h("code", {}, it.id), it.id === own && h("span.muted.small", {}, "this tab"), it.note && h("span.muted.small", {}, stored(it.note)), it.parent && h("span.muted.small", {}, `from ${it.parent}`)),
    it.revokedAt ? chip("revoked") : isOver(it) ? chip("expired") : chip("valid", "good"),
    it.scopes.map((scope) => h("span.tag", {}, scope)), it.space ? stored(it.space) : h("span.muted", {}, "all"),
    it.expiresAt ? time(it.expiresAt) : "never", it.lastUsedAt ? time(it.lastUsedAt) : "never",
    !isOver(it) && act("Revoke", async () => {
      const isSure = await confirm(`Revoke ${it.id}?`, h("p", {}, it.id === own ? "This tab signs out." : "What uses it, or a token derived from it, stops working at once."), "Revoke", true);
      if (!isSure) return;
      const { derived } = await remove(`/api/tokens/${it.id}`);
      say(derived.length ? `Revoked ${it.id} and ${derived.join(", ")}.` : `Revoked ${it.id}.`);
      again();
    }, "quiet"));
  const heads = ["Token", "State", "Scopes", "Space", "Expires", "Used", ""];
  return [
    h("section", {}, h("h2", {}, "Tokens"), table("Tokens", heads, active.slice(0, ROWS_MAX).map(one)),
      active.length > ROWS_MAX && h("p.muted", {}, `${number(active.length - ROWS_MAX)} older ones are not shown here.`),
      ended.length > 0 && h("details", {}, h("summary", {}, `${ended.length} expired or revoked`), table("Expired and revoked tokens", heads, ended.slice(0, ROWS_MAX).map(one))),
      h("h3", {}, "Create a token"), create(again)),
  ];
}

function create(again) {
  const place = h("div", { role: "status" });
  const space = input({ placeholder: "all" });
  const note = input({ maxLength: 256, placeholder: "the editor" });
  const life = select(LIFE, "30");
  const submit = async (event) => {
    event.preventDefault();
    const scopes = new FormData(event.target).getAll("scope");
    try {
      const created = await post("/api/tokens", {
        scopes, space: space.value.trim() || undefined, note: note.value.trim() || undefined,
        expiresAt: life.value ? new Date(Date.now() + Number(life.value) * DAY_MS).toISOString() : undefined,
      });
      fill(place, h("div.banner", {}, h("p", {}, "Copy the token now: it is shown only once."), h("p", {}, h("code.secret", { tabIndex: 0 }, created.token)),
        h("div.actions", {}, act("Copy", async () => { await navigator.clipboard.writeText(created.token); say("Copied."); }), button("Done", again))));
    } catch (error) { say(error.message, true); }
  };
  return [h("form.edit", { onsubmit: submit },
    h("fieldset.checks", {}, h("legend", {}, "Scopes"), SCOPES.map((it) => check(it, { name: "scope", value: it }))),
    h("div.filters", {}, field("Space", space), field("Expires after", life), field("Note", note)),
    h("div.actions", {}, h("button.primary", { type: "submit" }, "Create token"))), place];
}
