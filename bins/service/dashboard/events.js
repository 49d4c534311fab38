// Events as they are published, with a filter, and the ones before.

import { ask, messages, query as withQuery, session } from "./api.js";
import { button, chip, during, empty, facts, field, fill, folded, h, heading, input, link, number, say, stored, time } from "./dom.js";

// Rows of live events that the page keeps; earlier ones are read again from the service.
const ROWS_MAX = 200;
// New events wait for a moment, so that many of them cost one change of the page.
const FLUSH_MS = 100;
// Rows that one change adds at most, so that none of them takes long. The others follow in the next
// frames.
const ROWS_PER_CHANGE = 25;
const PAGE = 100;

export const title = () => "Events";

export async function show(main, { query, signal }) {
  const pattern = query.get("pattern") ?? "";
  const list = h("ol.events", { "aria-label": "Events, the newest first" });
  const state = h("span.muted", { role: "status" });
  const results = h("section", { "aria-label": "Events" });
  const live = new Live(list, state, pattern, signal);
  const pause = button("Pause", () => { live.toggle(); pause.textContent = live.isPaused ? "Resume" : "Pause"; });
  const submit = (event) => {
    event.preventDefault();
    const given = new FormData(event.target).get("pattern").trim();
    location.hash = given ? `#/events?pattern=${encodeURIComponent(given)}` : "#/events";
  };
  fill(main, heading("Events", state, pause),
    h("form.inline", { onsubmit: submit },
      field("Pattern", input({ name: "pattern", value: pattern, placeholder: "memory:*", spellcheck: false }), "a type, or a beginning and *"),
      h("button", { type: "submit" }, "Filter")),
    results);
  await during(results, "Loading…", async () => {
    const { data, headers } = await ask("GET", withQuery("/api/events", { pattern, limit: PAGE }), { signal });
    // The stream begins after the last event that the list examined, also if it shows none.
    live.first(data, Number(headers.get("waypost-next-after")));
    const earlier = h("div.pager", {}, button("Earlier events", () => {
      live.stop();
      pause.remove();
      state.textContent = "";
      page(results, pattern, live.oldest, signal);
    }));
    return [list, earlier];
  });
  live.run();
}

// Pages of stored events before an id.
function page(place, pattern, before, signal) {
  return during(place, "Loading…", async () => {
    const { data } = await ask("GET", withQuery("/api/events", { pattern, before, limit: PAGE }), { signal });
    return [
      data.length === 0 && empty("No earlier events."),
      h("ol.events", {}, data.reverse().map(event)),
      h("nav.pager", { "aria-label": "Pages" },
        button("Live", () => dispatchEvent(new HashChangeEvent("hashchange"))),
        data.length === PAGE && button("Earlier events", () => page(place, pattern, data.at(-1).id, signal))),
    ];
  });
}

class Live {
  constructor(list, state, pattern, signal) {
    Object.assign(this, { list, state, pattern, waiting: [], isPaused: false, hasGap: false, last: undefined, oldest: undefined });
    this.control = new AbortController();
    signal.addEventListener("abort", () => this.stop());
  }

  first(events, last) {
    this.last = last;
    this.oldest = events[0]?.id;
    fill(this.list, events.reverse().map(event));
    if (!events.length) fill(this.list, h("li.empty", {}, "No events yet."));
  }

  stop() {
    this.control.abort();
    clearTimeout(this.timer);
  }

  toggle() {
    this.isPaused = !this.isPaused;
    this.tell();
    this.schedule();
  }

  tell(text) {
    this.state.textContent = text ?? (this.isPaused ? "paused" : "live");
  }

  async run() {
    let wait = 500;
    while (!this.control.signal.aborted) {
      try {
        this.tell();
        await this.follow();
        wait = 500;
      } catch (error) {
        if (error.name === "AbortError" || !session.token) return;
        if (error.status && error.status < 500) { say(error.message, true); return this.tell("stopped"); }
      }
      // The service ended the stream, or is restarting: go on after the last event.
      this.tell("reconnecting…");
      await new Promise((resolve) => { setTimeout(resolve, wait); });
      wait = Math.min(wait * 2, 10000);
    }
  }

  async follow() {
    const headers = { "last-event-id": String(this.last) };
    const path = withQuery("/api/events/stream", { pattern: this.pattern });
    for await (const message of messages("GET", path, { headers, signal: this.control.signal })) {
      if (message.id) this.last = Number(message.id);
      if (message.event === "reset") say("Some events were dropped before they could be shown.");
      else if (message.event === "end") say(JSON.parse(message.data).detail ?? "The stream ended.");
      else if (message.event === "message" && message.data) this.add(JSON.parse(message.data));
    }
  }

  add(it) {
    this.waiting.push(it);
    // While the reader pauses, or does not see the page, only as many as fit are kept.
    if (this.waiting.length > ROWS_MAX) {
      this.waiting.shift();
      this.hasGap = true;
    }
    this.schedule();
  }

  schedule(wait = FLUSH_MS) {
    if (this.isPaused || this.timer || !this.waiting.length) return;
    // A frame shows the change at once: nothing computes the layout in between.
    const change = () => requestAnimationFrame(() => { this.timer = undefined; this.flush(); });
    this.timer = setTimeout(change, wait);
  }

  flush() {
    if (this.isPaused || this.control.signal.aborted) return;
    // What waits does not follow what is shown.
    if (this.hasGap) fill(this.list);
    this.hasGap = false;
    const rows = this.waiting.splice(0, ROWS_PER_CHANGE).reverse().map(event);
    this.list.querySelector(":scope > .empty")?.remove();
    this.list.prepend(...rows);
    while (this.list.childElementCount > ROWS_MAX) this.list.lastElementChild.remove();
    this.oldest = Number(this.list.lastElementChild.dataset.id);
    this.schedule(0);
  }
}

function event(it) {
  const data = Object.entries(it.data);
  const summary = [h("span.id", {}, `#${number(it.id)}`), " ", time(it.time, true), " ", chip(it.type), " ",
    h("span.data.stored", {}, data.map(([key, value]) => `${key}=${String(value).slice(0, 120)}`).join("  "))];
  return h("li", { "data-id": it.id }, folded("details", summary, () => [
    facts(...[["source", it.source], ["cause", it.cause], ["root", it.root && `#${it.root}`], ["space", it.space], ...data]
      .map(([key, value]) => [stored(key), value === undefined ? undefined : stored(String(value))])),
    session.may("flows:read") && h("p", {}, link(`#/flows/why/${it.id}`, "Why did flows run or not?")),
    it.type.startsWith("memory:") && /^\d+$/.test(String(it.data.id ?? "")) && h("p", {}, link(`#/memory/${it.data.id}`, `Memory #${it.data.id}`)),
  ]));
}
