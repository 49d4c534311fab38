// Flows, their files, their runs, and why an event ran them or not.

import { ask, get, part, post, query as withQuery, session } from "./api.js";
import { act, bytes, check, chip, confirm, during, empty, facts, field, fill, h, heading, input, link, num, number, plural, row, say, select, stored, table, time } from "./dom.js";
import { changes } from "./diff.js";

const STATES = ["", "quiet", "retrying", "queued", "running", "succeeded", "failed", "skipped", "cancelled"];
const LOOKS = { succeeded: "good", failed: "bad", dead: "bad", running: "accent", retrying: "warn" };
const OPEN = ["quiet", "retrying", "queued", "running"];
const RUNS = 100;

export const title = ([kind, id]) => (kind === "run" ? `Run ${id}` : kind === "file" ? `Approve ${id}` : "Flows");

export async function show(main, { parts, query, signal }) {
  const [kind, id] = parts;
  const place = h("div");
  fill(main, place);
  const pages = { run: () => run(id, signal, again), why: () => why(id, signal), file: () => file(id, signal), replay: () => replay(id) };
  const again = () => during(place, "Loading…", pages[kind] ?? (() => overview(query, signal, again)), title(parts));
  await again();
}

async function overview(query, signal, again) {
  const flow = query.get("flow") ?? "";
  const state = query.get("state") ?? "";
  const [all, runs] = await Promise.all([
    get("/api/flows", signal), get(withQuery("/api/flows/runs", { flow, state, limit: RUNS }), signal),
  ]);
  const pending = all.files.filter((it) => it.pending?.length || it.problem);
  return [
    heading("Flows", act("Refresh", again), act("Rescan files", async () => { await post("/api/flows/rescan"); again(); })),
    all.halted && h("p.banner.bad", {}, all.halted),
    pending.length > 0 && h("section", {}, h("h2", {}, "Waiting for you"), h("ul.rows", {}, pending.map((it) =>
      h("li", {}, h("code.stored", {}, it.name), " ", it.problem && stored(it.problem), " ",
        it.pending?.length > 0 && link(`#/flows/file/${part(it.name)}`, "review and approve"))))),
    h("section", {}, h("h2", {}, "In force"), all.flows.length
      ? table("Flows", ["Flow", "Trigger", "State", { number: "Open" }, { number: "Done" }, { number: "Failed" }, ""], all.flows.map((it) => flowRow(it, again)))
      : empty("No flow is in force. Flow files are in ", h("code", {}, ".waypost/flows/"), ".")),
    h("section", {}, h("h2", {}, "Runs"), filter(all.flows, flow, state), runList(runs)),
  ];
}

function flowRow(it, again) {
  const mayRun = session.may("flows:run");
  const path = `/api/flows/${part(it.name)}`;
  const state = it.paused ? [chip("paused", "warn"), " ", stored(it.paused)]
    : it.throttledSince ? [chip("throttled", "warn"), " since ", time(it.throttledSince)]
      : it.enabled ? chip("active", "good") : chip("disabled");
  return row(
    h("th", { scope: "row" }, link(`#/flows?flow=${part(it.name)}`, stored(it.name)), it.description && h("span.muted.small", {}, stored(it.description))),
    [h("code.stored", {}, it.pattern), it.condition && h("span.muted.small", {}, "if ", h("code.stored", {}, it.condition))],
    [state, it.lastFailure && h("span.small.bad", {}, "last failure: ", link(`#/flows/run/${part(it.lastFailure.run)}`, stored(it.lastFailure.why)))],
    num(number(it.queued + it.waiting + it.running)), num(number(it.ended?.succeeded ?? 0)),
    num(number((it.ended?.failed ?? 0) + (it.ended?.dead ?? 0))),
    mayRun && h("div.actions", {},
      it.paused || it.throttledSince
        ? act("Resume", async () => { await post(`${path}/resume`); say(`Resumed ${it.name}.`); again(); })
        : act("Pause", async () => { await post(`${path}/pause`, { why: "paused in the dashboard" }); say(`Paused ${it.name}: new runs wait.`); again(); }),
      link(`#/flows/replay/${part(it.name)}`, "Replay")));
}

function filter(flows, flow, state) {
  const submit = (event) => {
    const given = new FormData(event.currentTarget);
    location.hash = withQuery("#/flows", { flow: given.get("flow"), state: given.get("state") });
  };
  return h("form.inline", { onchange: submit, onsubmit: (event) => event.preventDefault() },
    field("Flow", select([["", "all"], ...flows.map((it) => it.name)], flow, { name: "flow" })),
    field("State", select(STATES.map((it) => [it, it || "all"]), state, { name: "state" })));
}

function runList(runs) {
  if (!runs.length) return empty("No runs.");
  const rows = runs.map((it) => row(
    h("th", { scope: "row" }, link(`#/flows/run/${part(it.id)}`, stored(it.id))), chip(it.state, LOOKS[it.state]),
    [h("code", {}, it.type), " ", link(`#/flows/why/${it.event}`, `#${number(it.event)}`)],
    time(it.createdAt, true), it.why ? stored(it.why) : ""));
  return [table("Runs, the newest first", ["Run", "State", "Event", "Created", "Outcome"], rows),
    runs.length === RUNS && h("p.muted", {}, `The newest ${RUNS} runs. Choose a flow or a state to see others.`)];
}

async function run(id, signal, again) {
  const it = await get(`/api/flows/runs/${part(id)}`, signal);
  const path = `/api/flows/runs/${part(id)}`;
  const mayRun = session.may("flows:run");
  return [
    heading(["Run ", stored(it.id)],
      mayRun && ["failed", "dead"].includes(it.state) && act("Retry", async () => { await post(`${path}/retry`); say("Retrying at the failed action."); again(); }, "primary"),
      mayRun && OPEN.includes(it.state) && act("Cancel", async () => { await post(`${path}/cancel`); say("Cancelled."); again(); }, "danger"),
      act("Refresh", again), link("#/flows", "All flows")),
    facts(["State", chip(it.state, LOOKS[it.state])], ["Outcome", it.why && stored(it.why)],
      ["Flow", link(`#/flows?flow=${part(it.flow)}`, stored(it.flow))],
      ["Event", [h("code", {}, it.type), " ", link(`#/flows/why/${it.event}`, `#${number(it.event)}`)]],
      ["Created", time(it.createdAt, true)], ["Ended", it.endedAt && time(it.endedAt, true)], ["Goes on", it.until && time(it.until, true)],
      ["Definition", h("code.small", {}, it.definition)]),
    h("section", {}, h("h2", {}, "Attempts"), it.tries.length ? it.tries.map(attempt) : empty("No action has run.")),
  ];
}

function attempt(it) {
  const stream = (name, text, size) => size > 0 && h("div", {}, h("h3", {}, `${name} (${bytes(size)})`),
    h("pre.content.stored", { tabIndex: 0, "aria-label": name }, text ?? "not kept"));
  return h("article.card", {}, h("p.meta", {}, h("strong", {}, `Action ${it.action}, attempt ${it.attempt}`),
    chip(it.outcome, LOOKS[it.outcome] ?? "bad"), stored(it.detail), h("span", {}, `${number(it.tookMs)} ms`), time(it.at, true),
    it.leaked && h("span.warn", {}, "leftover processes were killed")),
  stream("Standard output", it.stdout, it.stdoutBytes), stream("Standard error", it.stderr, it.stderrBytes));
}

async function why(id, signal) {
  const [event, flows] = await Promise.all([
    session.may("events:read") ? get(`/api/events/${part(id)}`, signal) : undefined,
    get(withQuery("/api/flows/why", { event: id }), signal),
  ]);
  return [
    heading(`Why event #${number(Number(id))} ran flows or not`, link("#/events", "Events")),
    event && facts(["Type", h("code", {}, event.type)], ["Time", time(event.time, true)], ["Source", stored(event.source)],
      ...Object.entries(event.data).map(([key, value]) => [stored(key), stored(String(value))])),
    flows.length === 0 && empty("No flow is in force."),
    h("ul.cards", {}, flows.map((it) => h("li.card", {},
      h("p.meta", {}, stored(it.flow, "strong"), chip(it.wants ? "runs" : "does not run", it.wants ? "good" : ""),
        it.run && link(`#/flows/run/${part(it.run.id)}`, "its run")),
      h("ul.rows", {},
        h("li", {}, it.selects ? "Its pattern matches the event's type." : "Its pattern does not match the event's type."),
        !it.enabled && h("li", {}, "It is disabled."),
        it.condition && h("li", {}, `Its condition is ${it.condition}.`),
        it.findings?.map((found) => h("li", {}, h("code.stored", {}, found.text), ` is ${found.truth}: `, stored(found.because))),
        it.stopped && h("li.warn", {}, stored(it.stopped)),
        it.missed && h("li.warn", {}, stored(it.missed)))))),
  ];
}

// The whole text with its changes, and every program, before an approval.
async function file(name, signal) {
  const path = `/api/flows/files/${part(name)}`;
  const it = await get(path, signal);
  const programs = it.programs ?? [];
  const unseen = programs.filter((program) => program.found === undefined);
  const hashes = Object.fromEntries(programs.map((program) => [program.file, program.hash]));
  const approve = async () => {
    const isSure = await confirm(`Approve ${name}?`, h("div", {},
      h("p", {}, "Its flows then run commands on this machine, as you. Approved are exactly the texts that this page shows:"),
      h("ul", {}, h("li", {}, h("code.stored", {}, name), " ", h("code.small", {}, it.hash)),
        programs.map((program) => h("li", {}, h("code.stored", {}, program.file), " ", h("code.small", {}, program.hash))))), "Approve", true);
    if (!isSure) return;
    await post(`${path}/allow`, { hash: it.hash, programs: hashes });
    say(`Approved ${name}.`);
    location.hash = "#/flows";
  };
  return [
    heading(["Approve ", stored(name)], link("#/flows", "All flows")),
    h("p.lead", {}, "Read every line before you approve it. Invisible characters are shown as escapes, and spaces at the end of a line as dots."),
    section(name, it.hash, it.inForce, it.found),
    programs.map((program) => section(program.file, program.hash, program.approved, program.found)),
    unseen.length > 0
      ? h("p.banner", {}, "Some programs cannot be shown here. Review and approve them in a terminal: ", h("code", {}, "ctl allow"))
      : session.may("admin")
        ? h("div.actions", {}, act("Approve what is shown", approve, "primary"))
        : h("p.banner", {}, "An approval needs the scope admin. In a terminal: ", h("code", {}, "ctl allow")),
  ];
}

function section(name, hash, before, after) {
  const label = before ? "changed since the last approval" : "new";
  const isSame = before === after;
  return h("section", {}, h("h2", {}, h("code.stored", {}, name), " ", chip(isSame ? "unchanged" : label, isSame ? "" : "warn")),
    h("p.muted.small", {}, "SHA-256 ", h("code", {}, hash)),
    after === undefined ? empty("Not text, or larger than 1 MiB.") : changes(before ?? "", after, `Text of ${name}`, true));
}

function replay(name) {
  const after = input({ type: "number", min: 0, placeholder: "0" });
  const until = input({ type: "number", min: 1, placeholder: "the newest" });
  const dry = check("Only show which events would run it", { checked: true });
  const place = h("div");
  const submit = async (event) => {
    event.preventDefault();
    const isDry = dry.querySelector("input").checked;
    if (!isDry && !await confirm(`Replay ${name}?`, h("p", {}, "The flow runs again for every event in this range that it wants."), "Replay", true)) return;
    await during(place, "Replaying…", async () => {
      const { data } = await ask("POST", `/api/flows/${part(name)}/replay`, { body: {
        after: after.value ? Number(after.value) : undefined, until: until.value ? Number(until.value) : undefined, dryRun: isDry } });
      return [h("p", {}, `${plural(data.wanted, "event")} of ${number(data.range.after + 1)} to ${number(data.range.until)} ${isDry ? "would run it" : "run it"}.`),
        data.replay && h("p", {}, link(`#/flows?flow=${part(name)}`, "Its runs")),
        h("p.meta", {}, data.events.map((id) => link(`#/flows/why/${id}`, `#${number(id)}`)))];
    });
  };
  return [heading(["Replay ", stored(name)], link("#/flows", "All flows")),
    h("form.inline", { onsubmit: submit }, field("Events after", after), field("up to", until), dry, h("button.primary", { type: "submit" }, "Replay")), place];
}
