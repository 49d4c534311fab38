// Requests to the service, with the token of this tab.

const KEY = "waypost.token";

export const session = {
  get token() { return sessionStorage.getItem(KEY); },
  set token(it) { if (it) sessionStorage.setItem(KEY, it); else sessionStorage.removeItem(KEY); },
  grants: { scopes: [] },
  // Whether the token permits something.
  may(scope) { return this.grants.scopes.includes(scope) || this.grants.scopes.includes("admin"); },
};

// The session of the token is over: the page sends nothing more.
function end(token, why, isForeign) {
  if (!token || session.token !== token) return;
  session.token = null;
  dispatchEvent(new CustomEvent("signedout", { detail: { why, isForeign } }));
}

async function reach(path, options) {
  try {
    return await fetch(path, { ...options, cache: "no-store", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The service does not respond. Start it: run service in the project's folder.");
  }
}

// Once the service stops, any program of the machine can listen on its port. The page sends nothing that has a value
// until the listener has proven that it knows the code or token, which only the process that issued it does. The proof
// is an HMAC of a random text. Without credentials, browsers do not use the connection to load a page later.
async function check(secret) {
  const encode = (text) => new TextEncoder().encode(text);
  const nonce = crypto.randomUUID();
  const body = JSON.stringify({ id: secret.split("_").at(-2), nonce });
  const response = await reach("/api/dashboard/proof", { method: "POST", body, headers: { "content-type": "application/json" }, credentials: "omit" });
  if (response.status >= 500) throw new Error("The service does not respond. Start it: run service in the project's folder.");
  const answer = await response.json().catch(() => undefined);
  const bytes = Uint8Array.from(String(answer?.proof).match(/../g) ?? [], (it) => parseInt(it, 16));
  const key = await crypto.subtle.importKey("raw", encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  if (await crypto.subtle.verify("HMAC", key, bytes, encode(nonce))) return;
  const foreign = new Error("The service was restarted, or another program uses its address, so the page sends nothing there. Copy unsaved text before you reload or close this tab.");
  end(secret, foreign, true);
  throw foreign;
}

let checking = {};

// Requests that begin during a check share it.
function prove(secret) {
  if (!secret) throw new Error("This tab is signed out. Run ctl open.");
  // Over plain HTTP from another machine, which --allow-remote accepts, browsers have no cryptography.
  if (!isSecureContext) return undefined;
  if (checking.secret !== secret) {
    const it = { secret };
    it.done = check(secret).finally(() => { if (checking === it) checking = {}; });
    checking = it;
  }
  return checking.done;
}

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
  const { token } = session;
  await prove(token ?? body?.code);
  if (token) given.authorization = `Bearer ${token}`;
  let sent;
  if (body !== undefined) [sent, given["content-type"]] = [JSON.stringify(body), "application/json"];
  const response = await reach(path, { method, headers: given, body: sent, signal });
  if (response.ok) return response;
  const text = await response.text();
  let problem = {};
  try { problem = JSON.parse(text); } catch { /* not one of the service */ }
  if (response.status === 401) end(token, new Error("This tab's access has expired or was revoked."));
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
