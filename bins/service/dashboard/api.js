// Requests to the service, with the token of this tab.

const KEY = "waypost.token";

export const session = {
  get token() { return sessionStorage.getItem(KEY); },
  set token(it) { if (it) sessionStorage.setItem(KEY, it); else sessionStorage.removeItem(KEY); },
  grants: { scopes: [] },
  // Whether the token permits something.
  may(scope) { return this.grants.scopes.includes(scope) || this.grants.scopes.includes("admin"); },
};

// A request that the service refused.
export class Problem extends Error {
  constructor(status, body) {
    const id = body.requestId ? ` (request ${body.requestId})` : "";
    super(`${body.detail ?? body.title ?? `The service responded with ${status}.`}${id}`);
    this.status = status;
    this.errors = body.errors;
  }
}

async function send(method, path, { body, headers, signal } = {}) {
  const given = { ...headers };
  if (session.token) given.authorization = `Bearer ${session.token}`;
  let sent;
  if (body !== undefined) [sent, given["content-type"]] = [JSON.stringify(body), "application/json"];
  let response;
  try {
    response = await fetch(path, { method, headers: given, body: sent, signal, cache: "no-store", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The service does not respond. Is it running?");
  }
  if (response.ok) return response;
  const text = await response.text();
  let problem = {};
  try { problem = JSON.parse(text); } catch { /* not one of the service */ }
  if (response.status === 401 && session.token) {
    session.token = null;
    dispatchEvent(new CustomEvent("signedout"));
  }
  throw new Problem(response.status, problem);
}

// The response's JSON, and what its headers say.
export async function ask(method, path, options) {
  const response = await send(method, path, options);
  const text = await response.text();
  const next = /<([^>]*)>;\s*rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
  return { data: text ? JSON.parse(text) : undefined, headers: response.headers, next };
}

export const get = async (path, signal) => (await ask("GET", path, { signal })).data;
export const post = async (path, body, signal) => (await ask("POST", path, { body, signal })).data;
export const patch = async (path, body) => (await ask("PATCH", path, { body })).data;
export const remove = async (path) => (await ask("DELETE", path)).data;

// A path with a query of the values that are given.
export function query(path, values) {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    for (const it of Array.isArray(value) ? value : [value]) {
      if (it !== undefined && it !== null && it !== "") given.append(key, it);
    }
  }
  const text = given.toString();
  return text ? `${path}?${text}` : path;
}

// The messages of one event stream, until it ends.
export async function* messages(method, path, options) {
  const response = await send(method, path, {
    ...options,
    headers: { accept: "text/event-stream", ...options.headers },
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop();
      for (const part of parts) {
        const message = { event: "message", data: "" };
        for (const line of part.split("\n")) {
          const [, key, text] = /^([a-z]*): ?(.*)$/s.exec(line) ?? [];
          if (key) message[key] = text;
        }
        yield message;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// Whatever an id or a name consists of, as one part of a path.
export const part = (text) => encodeURIComponent(text);
