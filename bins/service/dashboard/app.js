// Signing in, the list of views, and which of them is shown.

import { ask, get, session } from "./api.js";
import { act, empty, failure, fill, h, heading, say } from "./dom.js";
import * as search from "./search.js";
import * as memory from "./memory.js";
import * as recall from "./recall.js";
import * as conflicts from "./conflicts.js";
import * as context from "./context.js";
import * as events from "./events.js";
import * as flows from "./flows.js";
import * as graph from "./graph.js";
import * as status from "./status.js";

// Name in the address, module, title in the list of views, and the scope that it needs.
const VIEWS = [
  ["search", search, "Memories", "memory:read"],
  ["recall", recall, "Recall log", "memory:read"],
  ["conflicts", conflicts, "Conflicts", "memory:read"],
  ["context", context, "Context", "context:read"],
  ["events", events, "Events", "events:read"],
  ["flows", flows, "Flows", "flows:read"],
  ["status", status, "Status", "memory:read"],
  ["memory", memory, null, "memory:read"],
  ["graph", graph, null, "memory:read"],
];
// The view in whose part of the list another one is.
const WITHIN = { memory: "search", graph: "search" };

const main = document.getElementById("main");
const nav = document.getElementById("nav");
let shown = new AbortController();

// The code is used at once and does not stay in the address, nor in the history.
async function signIn() {
  const code = /^#code=(\w+)$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(null, "", "/#/search");
  session.token = null;
  const { data } = await ask("POST", "/api/dashboard/token", { body: { code } });
  session.token = data.token;
}

// What is shown already may have texts that are not saved yet.
function explain(error, keepsShown) {
  document.body.classList.add("out");
  document.title = "Open the dashboard · Waypost";
  fill(nav);
  if (!keepsShown) fill(main);
  main.prepend(h("div.card.door", {},
    h("h1", { tabIndex: -1 }, "Open the dashboard"),
    error && failure(error),
    h("p", {}, "In a terminal, in the project's folder, run:"),
    h("pre", {}, h("code", {}, "ctl open")),
    h("p", {}, "It opens this page with a code that is valid once and for 60 seconds. The page keeps its access in this tab, for 12 hours or until the service stops."),
    h("p.muted", {}, "If no page opens, ", h("code", {}, "ctl open --print"), " prints the path of a file: open it in a browser.")));
  main.querySelector("h1").focus();
}

function route() {
  const [path, text] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  const parts = rest.map((it) => { try { return decodeURIComponent(it); } catch { return it; } });
  return { name: name || "search", parts, query: new URLSearchParams(text) };
}

async function show() {
  const { name, parts, query } = route();
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  const view = VIEWS.find((it) => it[0] === name);
  for (const it of nav.querySelectorAll("a")) {
    const isCurrent = it.dataset.view === (WITHIN[name] ?? name);
    if (isCurrent) it.setAttribute("aria-current", "page"); else it.removeAttribute("aria-current");
    if (isCurrent) it.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  fill(main);
  scrollTo(0, 0);
  if (!view) {
    fill(main, heading("No such view"), empty("Choose one of the list."));
  } else if (!session.may(view[3])) {
    fill(main, heading(view[2] ?? "Memory"), empty("This tab's access lacks the scope ", h("code", {}, view[3]), ". Open the dashboard again with ", h("code", {}, "ctl open"), "."));
  } else {
    document.title = `${view[1].title(parts)} · Waypost`;
    try {
      await view[1].show(main, { parts, query, signal });
    } catch (error) {
      if (!signal.aborted && session.token) fill(main, heading(view[1].title(parts)), failure(error));
    }
  }
}

function list() {
  fill(nav, h("ul", {}, VIEWS.filter((it) => it[2] && session.may(it[3])).map(([name, , title]) =>
    h("li", {}, h("a", { href: `#/${name}`, "data-view": name }, title)))));
  nav.append(act("Sign out", signOut, "quiet"));
}

async function signOut() {
  const id = session.token?.split("_")[1];
  if (id && session.may("admin")) await ask("DELETE", `/api/tokens/${id}`);
  session.token = null;
  shown.abort();
  explain();
}

async function start() {
  try {
    await signIn();
  } catch (error) {
    session.token = null;
    return explain(error);
  }
  if (!session.token) return explain();
  try {
    session.grants = await get("/api/tokens/current");
  } catch (error) {
    return session.token && explain(error);
  }
  document.body.classList.remove("out");
  list();
  show();
}

addEventListener("hashchange", () => {
  if (location.hash.startsWith("#code=")) return start();
  if (!session.token) return;
  show().then(() => main.querySelector("h1")?.focus({ preventScroll: true }));
});
addEventListener("signedout", ({ detail: { why, isForeign } }) => {
  shown.abort();
  explain(why, isForeign);
});
addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select, dialog");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const box = document.getElementById("query");
  if (box) box.focus(); else location.hash = "#/search";
});
document.getElementById("skip").addEventListener("click", () => main.focus());
addEventListener("unhandledrejection", (event) => {
  if (event.reason?.name !== "AbortError") say(event.reason?.message ?? "Something failed.", true);
});
start();
