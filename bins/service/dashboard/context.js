// What an agent would get for a task, and what it costs.

import { get, post, session } from "./api.js";
import { announce, bar, check, chip, during, empty, field, fill, fixed, h, heading, input, link, number, plural, select, stored, time } from "./dom.js";

const TASKS = ["general", "code", "spec", "content", "strategy"];
const SOURCES = ["journal", "knowledge", "code", "memory"];

export const title = () => "Context";

export async function show(main, { signal }) {
  const results = h("section", { "aria-label": "Context" });
  const task = h("textarea", { name: "query", rows: 4, maxLength: 8192, placeholder: "Fix the login redirect in the settings page", "aria-label": "The task" });
  const submit = async (event) => {
    event.preventDefault();
    await during(results, "Collecting context…", () => collect(new FormData(event.target), signal));
  };
  fill(main, heading("Context by task"),
    h("p.lead", {}, "Paste a task to see what an agent would get for it, and its cost in tokens. Without a task: what matters now."),
    h("form.edit", { onsubmit: submit, onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit(); } },
      task,
      h("div.filters", {},
        field("Kind of task", select(TASKS, "general", { name: "taskType" })),
        field("Items, at most", input({ name: "maxItems", type: "number", min: 1, max: 200, value: 30 })),
        field("Tokens, at most", input({ name: "maxTokens", type: "number", min: 1, max: 1000000, placeholder: "no limit" })),
        h("fieldset.checks", {}, h("legend", {}, "Sources"), SOURCES.filter((it) => it !== "memory" || session.may("memory:read"))
          .map((it) => check(it, { name: "sources", value: it, checked: it !== "memory" })))),
      h("div.actions", {}, h("button.primary", { type: "submit", "aria-keyshortcuts": "Control+Enter" }, "Show the context"))),
    results);
  const status = await get("/api/context/status", signal);
  if (status.status === "off") fill(results, empty(status.why ?? "The project has no context."));
  else fill(results, h("p.muted", {}, `${plural(status.files, "file")} indexed`, status.pending ? `, ${number(status.pending)} to go` : "", "."));
}

async function collect(form, signal) {
  const count = (name) => (form.get(name) ? Number(form.get(name)) : undefined);
  const answer = await post("/api/context", {
    query: form.get("query") || undefined,
    taskType: form.get("taskType"),
    maxItems: count("maxItems"),
    maxTokens: count("maxTokens"),
    sources: form.getAll("sources"),
  }, signal);
  const tokens = answer.items.reduce((sum, it) => sum + it.tokens, 0);
  const largest = Math.max(1, ...answer.items.map((it) => it.tokens));
  announce(`${plural(answer.items.length, "item")}, ${plural(tokens, "token")}`);
  let sum = 0;
  return [
    h("div.summary", {}, h("strong", {}, plural(tokens, "token")), h("span", {}, plural(answer.items.length, "item")),
      h("span", {}, `${answer.durationMs} ms`), answer.truncated && h("span.warn", {}, "cut to the limit of tokens"),
      answer.pending > 0 && h("span.warn", {}, `${plural(answer.pending, "file")} not indexed yet`)),
    answer.items.length === 0 && empty("Nothing fits this task."),
    h("ol.hits", {}, answer.items.map((it) => {
      sum += it.tokens;
      return item(it, sum, largest);
    })),
  ];
}

function item(it, sum, largest) {
  const memory = /^\/api\/memory\/(\d+)$/.exec(it.path)?.[1];
  const place = it.line ? `${it.path}:${it.line}${it.endLine && it.endLine !== it.line ? `–${it.endLine}` : ""}` : it.path;
  return h("li.hit", {},
    h("div.score", {}, h("strong", { title: "tokens" }, number(it.tokens)), bar(it.tokens / largest, plural(it.tokens, "token")),
      h("span.muted.small", {}, `Σ ${number(sum)}`)),
    h("article", {},
      h("h2", {}, memory ? link(`#/memory/${memory}`, stored(it.title)) : stored(it.title)),
      h("p.meta", {}, chip(it.source), chip(it.type), h("code.stored", {}, place), h("span", {}, `score ${fixed(it.score, 2)}`), it.updatedAt && time(it.updatedAt)),
      it.why.length > 0 && h("p.meta", {}, "why: ", it.why.map((reason) => h("span.tag", {}, stored(reason)))),
      h("details", {}, h("summary", {}, "Text"), h("pre.content.stored", { tabIndex: 0, "aria-label": "Text" }, it.content))));
}
