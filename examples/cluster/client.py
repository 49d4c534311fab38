"""The clients: each makes calls one after the other, and writes down what it asked and what it heard.

client.py CONFIG: runs the clients that a JSON file describes, until it gets SIGTERM.
"""

import http.client
import json
import random
import signal
import socket
import sys
import threading
import time

from checker import EVENT, LINK, MEMORY, OK, READ, REFUSED, UNKNOWN, UPDATE, Call

# Longer than a service takes to answer: what a client gives up on must not be written later.
TIMEOUT = 60.0
# How long a client repeats a publish with the same key.
REPEAT = 90.0
SEARCH = "search"
# The type of the events that start a flow, and how many of all events have it.
REVIEWED = "work:reviewed"
# One flow for each: a flow keeps its newest 1,000 runs, and all are judged in the end.
REVIEWERS = 8
REVIEWED_SHARE = 0.1

SUBJECTS = ("release", "parser", "cache", "index", "login", "invoice", "search page", "backup", "importer", "queue")
FINDINGS = ("fails with empty input", "needs two approvals", "is slower since Tuesday", "was moved to the second region",
            "has a test for time zones", "retries three times", "keeps the old format until March", "is owned by the platform team")


class Socket(http.client.HTTPConnection):
    """HTTP over a socket in the file system."""

    def __init__(self, path):
        super().__init__("localhost", timeout=TIMEOUT)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Refused(Exception):
    """The request was not sent."""


class Machine:
    """A service as clients reach it: by its socket, which no cut network affects."""

    def __init__(self, name, path, token):
        self.name, self.path, self.token = name, path, token
        self.connection = None

    def ask(self, method, path, body=None, headers=None):
        """The status, the headers and the document of the response."""
        if self.connection is None:
            connection = Socket(self.path)
            try:
                connection.connect()
            except OSError as error:
                connection.close()
                raise Refused(str(error)) from None
            self.connection = connection
        lines = isinstance(body, list)
        payload = "\n".join(json.dumps(it) for it in body) if lines else body and json.dumps(body)
        kind = "application/x-ndjson" if lines else "application/json"
        asked = {"Authorization": f"Bearer {self.token}", "Content-Type": kind, **(headers or {})}
        try:
            self.connection.request(method, path, payload, asked)
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            raise
        if answer.will_close:
            self.connection.close()
            self.connection = None
        if answer.headers.get_content_type() == "application/x-ndjson":
            return answer.status, answer.headers, [json.loads(it) for it in text.splitlines()]
        return answer.status, answer.headers, json.loads(text) if text else None


def sequence(headers):
    """The sequence number in the header of a position."""
    value = headers.get("Waypost-Position")
    return int(value.rpartition(":")[2]) if value else None


def at_least(position):
    """The header of a request that must find what was written at a position."""
    return {"Waypost-Min-Position": position} if position else {}


def judged(status, document):
    """What a status says about a write."""
    if 200 <= status < 300:
        return OK, str(status)
    detail = (document or {}).get("detail", "") if isinstance(document, dict) else ""
    if status < 500 and status != 408:
        return REFUSED, f"{status} {detail}"
    # Only a response that says so has written nothing.
    not_written = "nothing was written" in detail or "try again in a second" in detail or "is stopping" in detail
    not_written = not_written or "cannot know whether the token was revoked" in detail
    return (REFUSED if status == 503 and not_written else UNKNOWN), f"{status} {detail}"


class Client:
    """One agent. It works on its own machine, and on another one while that does not answer, or now and then."""

    def __init__(self, name, machines, log, seed, batch, stays):
        self.name, self.log, self.batch, self.stays = name, log, batch, stays
        self.machines = [Machine(*it) for it in machines]
        self.chance = random.Random(seed)
        self.number = 0
        # (id, key, position header) of what was acknowledged, and the revision of each.
        self.written, self.revision = [], {}

    def next_key(self):
        self.number += 1
        # One term of the index.
        return f"{self.name}n{self.number}"

    def machine(self, try_number=0):
        if try_number == 0 and (self.stays or self.chance.random() < 0.9):
            return self.machines[0]
        return self.chance.choice(self.machines)

    def call(self, kind, key, machine, request, fields=None):
        """Makes a call, writes it down, and returns it with the document of the response."""
        start = time.monotonic()
        base = {"client": self.name, "machine": machine.name, "kind": kind, "key": key, "start": start}
        headers, document = {}, None
        try:
            status, headers, document = machine.ask(*request)
            outcome, detail = judged(status, document)
        except Refused as error:
            outcome, detail = REFUSED, f"not sent: {error}"
        except (OSError, http.client.HTTPException, ValueError) as error:
            outcome, detail = UNKNOWN, f"no response: {error or type(error).__name__}"
        call = Call(end=time.monotonic(), outcome=outcome, detail=detail, at=sequence(headers), **base)
        call = call._replace(**fields(call, document)) if fields else call
        self.log(call)
        return call, document, headers

    def text(self, key):
        subject, finding = self.chance.choice(SUBJECTS), self.chance.choice(FINDINGS)
        return f"The {subject} {finding}. Noted as {key}."

    def sure(self, kind, key, request, fields, always=False):
        """Makes a call once, or, with an Idempotency-Key, again and again until it is acknowledged."""
        method, path, body, *rest = request
        if not always and self.chance.random() < 0.5:
            return self.call(kind, key, self.machine(), request, fields)
        deadline, number = time.monotonic() + REPEAT, 0
        # A key of its own for each revision.
        headers = {"Idempotency-Key": f"{key}r{body.get('metadata', {}).get('revision', 0)}", **(rest[0] if rest else {})}
        while True:
            made = self.call(kind, key, self.machine(number), (method, path, body, headers), fields)
            number += 1
            is_over = made[0].outcome == OK or made[0].detail.startswith("4") or time.monotonic() >= deadline
            if is_over or STOP.wait(0.2 if number > 1 else 0):
                return made

    def add(self):
        if self.batch > 1:
            return self.add_many()
        key = self.next_key()
        body = {"content": self.text(key), "metadata": {"key": key, "revision": 0}}

        def fields(call, document):
            # 200: an earlier try had been carried out.
            return {"id": document["id"], "repeated": call.detail == "200"} if call.outcome == OK else {}

        call, _, headers = self.sure(MEMORY, key, ("POST", "/api/memory/add", body), fields)
        self.keep(call, headers)
        return call

    def add_many(self):
        """Adds several memories with one request, whose lines have their own outcomes."""
        keys = [self.next_key() for _ in range(self.batch)]
        body = [{"content": self.text(it), "metadata": {"key": it, "revision": 0}} for it in keys]
        machine, calls = self.machine(), []
        log, self.log = self.log, calls.append
        try:
            whole, document, headers = self.call(MEMORY, keys[0], machine, ("POST", "/api/memory/batch", body))
        finally:
            self.log = log
        for key, line in zip(keys, document if whole.outcome == OK else [None] * len(keys)):
            call = whole._replace(key=key)
            if line is not None:
                outcome, detail = judged(line["status"], line.get("problem"))
                # The position of the headers is older than the lines, which follow them.
                call = call._replace(outcome=outcome, detail=detail, id=line.get("id"), at=None)
            log(call)
            if call.outcome == OK:
                self.written.append((call.id, key, None))
        # Each line may have been refused.
        if whole.outcome == OK and self.written:
            self.place(machine)
        return whole

    def place(self, machine):
        """Gives the memories of a batch the position of a later response of the same machine."""
        id, key, _ = self.written[-1]
        fields = lambda call, _: {"found": call.outcome == OK}
        call, _, headers = self.call(READ, key, machine, ("GET", f"/api/memory/{id}"), fields)
        position = headers.get("Waypost-Position") if call.outcome == OK else None
        self.written = [(*it[:2], it[2] or position) for it in self.written][-1000:]

    def publish(self):
        """Publishes an event, always with a key."""
        key = self.next_key()
        type = f"{REVIEWED}-{self.number % REVIEWERS}" if self.chance.random() < REVIEWED_SHARE else "work:done"
        body = {"type": type, "data": {"key": key}}
        fields = lambda call, it: {"id": it["id"], "repeated": it["duplicate"]} if call.outcome == OK else {}
        return self.sure(EVENT, key, ("POST", "/api/events", body), fields, always=True)[0]

    def update(self):
        if not self.written:
            return self.add()
        id, key, position = self.chance.choice(self.written[-200:])
        revision = self.revision[key] = self.revision.get(key, 0) + 1
        body = {"metadata": {"key": key, "revision": revision}}
        request = ("PATCH", f"/api/memory/{id}", body, at_least(position))
        return self.sure(UPDATE, key, request, lambda *_: {"revision": revision})[0]

    def link(self):
        if len(self.written) < 2:
            return self.add()
        one, other = self.chance.sample(self.written[-200:], 2)
        body = {"from": one[0], "to": other[0], "type": "related_to"}
        # The later one of both is in the position of the later one.
        request = ("POST", "/api/memory/link", body, at_least(max(one, other)[2]))
        return self.call(LINK, f"{one[0]}-{other[0]}", self.machine(), request)[0]

    def read(self):
        """Reads on any machine, or its own, what was written before, by id or by its words, at the position of the write."""
        if not self.written:
            return self.add()
        id, key, position = self.chance.choice(self.written[-5:])
        headers = at_least(position)
        if self.chance.random() < 0.5:
            request = ("GET", f"/api/memory/{id}", None, headers)
        else:
            request = ("POST", "/api/memory/search", {"query": key, "mode": "lexical", "limit": 10}, headers)
        least = int(position.rpartition(":")[2]) if position else None

        def fields(call, document):
            if call.detail.startswith("404"):
                return {"outcome": OK, "least": least, "found": False}
            hits = document if isinstance(document, list) else [document or {}]
            return {"least": least, "found": any(it.get("metadata", {}).get("key") == key for it in hits)}

        machine = self.machines[0] if self.stays else self.chance.choice(self.machines)
        return self.call(READ, key, machine, request, fields)[0]

    def search(self):
        """Searches on its own machine, which needs no other."""
        body = {"query": f"{self.chance.choice(SUBJECTS)} {self.chance.choice(FINDINGS)}", "mode": "lexical"}
        return self.call(READ, SEARCH, self.machines[0], ("POST", "/api/memory/search", body))[0]

    def keep(self, call, headers):
        if call.outcome == OK:
            self.written.append((call.id, call.key, headers.get("Waypost-Position")))
            del self.written[:-1000]

    def run(self, pause):
        steps = [self.add, self.publish, self.update, self.link, self.read, self.search]
        while not STOP.is_set():
            call = self.chance.choices(steps, (40, 25, 10, 5, 12, 8))[0]()
            # A client whose machine is away asks again later.
            STOP.wait(0.2 if call.detail.startswith("not sent") else pause * 2 * self.chance.random())


STOP = threading.Event()


def main(path):
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    signal.signal(signal.SIGTERM, lambda *_: STOP.set())
    lock = threading.Lock()
    with open(config["history"], "w", encoding="utf-8") as file:

        def log(call):
            line = json.dumps(call, separators=(",", ":"))
            with lock:
                file.write(line + "\n")

        threads = []
        for client in config["clients"]:
            it = Client(client["name"], client["machines"], log, client["seed"], config["batch"], client["stays"])
            threads.append(threading.Thread(target=it.run, args=(config["pause"],)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(sys.argv[1])
