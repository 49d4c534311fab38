"""The machines: each has a project folder, a service, and a link to the database."""

import json
import os
import signal
import time

from checker import State
from client import Machine as Connection
from client import REVIEWED, REVIEWERS, sequence
from processes import Failed, descendants, run, send, spawn, until


# The program writes down that it ran; keys are letters and digits.
FLOWS = "flows:\n" + "".join(f"""
  - name: reviews-{number}
    trigger: {{ pattern: "{REVIEWED}-{number}" }}
    actions:
      - type: command
        command: "echo {{{{data.key}}}} >> ran.txt"
""" for number in range(REVIEWERS))


class Machine:
    """One machine of the cluster."""

    def __init__(self, name, folder, network, database, binaries):
        self.name, self.network, self.binaries = name, network, binaries
        self.project = os.path.join(folder, name)
        self.log = os.path.join(folder, f"{name}.log")
        self.process = None
        flows = os.path.join(self.project, ".waypost", "flows")
        os.makedirs(flows)
        with open(os.path.join(flows, "reviews.yaml"), "w", encoding="utf-8") as file:
            file.write(FLOWS)
        network.add(name)
        self.url, places = database.url(name)
        passwords = os.path.join(folder, f"{name}.pgpass")
        database.write_passwords(passwords, places)
        kept = {key: it for key, it in os.environ.items() if key in ("PATH", "LANG", "TZ", "RUST_BACKTRACE")}
        self.environment = {**kept, "HOME": folder, "PGPASSFILE": passwords, "WAYPOST_TRUST_PROJECT": "1"}
        self.connection = None

    def ctl(self, *arguments, timeout=120):
        command = [os.path.join(self.binaries, "ctl"), "--project", self.project, *arguments]
        return run(self.network.inside(self.name, command), env=self.environment, timeout=timeout)

    def name_itself(self):
        """Sets the name under which the cluster lists it: all have the host name of this machine."""
        with open(os.path.join(self.project, ".waypost", "config.yaml"), "w", encoding="utf-8") as file:
            file.write(f"cluster:\n  url: {self.url}\n  name: {self.name}\n")

    def start(self):
        """Starts the service, and waits until it answers."""
        command = [os.path.join(self.binaries, "service"), "--project", self.project, "--listen", "127.0.0.1:0",
                   "--model", "none", "--offline"]
        with open(self.log, "ab") as log:
            self.process = spawn(self.network.inside(self.name, command), stdout=log, stderr=log, env=self.environment)
        try:
            until(self.answers, f"the service of {self.name} starts", alive=self.process)
        except Failed as error:
            raise Failed(f"{error}\n{self.last_lines()}") from None

    def stop(self):
        """Stops the service as an operator does."""
        self.process.terminate()
        self.process.wait()

    def last_lines(self, count=5):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-count:]).rstrip()

    def socket(self):
        return os.path.join(self.project, ".waypost", "data", "service.sock")

    def token(self):
        with open(os.path.join(self.project, ".waypost", "token"), encoding="utf-8") as file:
            return file.read().strip()

    def connect(self):
        return Connection(self.name, self.socket(), self.token())

    def answers(self):
        try:
            return self.connect().ask("GET", "/healthz")[0] == 200
        except Exception:
            return False

    def processes(self):
        return [self.process.pid, *descendants(self.process.pid)]

    def kill(self):
        send(self.processes(), signal.SIGKILL)
        self.process.wait()

    def pause(self):
        send(self.processes(), signal.SIGSTOP)

    def resume(self):
        send(self.processes(), signal.SIGCONT)

    def ask(self, method, path, headers=None):
        """A reading request, repeated until the machine answers it."""

        def answer():
            try:
                status, found, document = self.connect().ask(method, path, None, headers)
            except Exception:
                return None
            return (found, document) if status == 200 else None

        return until(answer, f"{self.name} answers {path}", seconds=60)

    def position(self):
        """The end of the journal as this machine knows it."""
        headers, _ = self.ask("GET", "/api/memory/status")
        return sequence(headers)

    def status(self):
        return json.loads(self.ctl("--json", "cluster", "status", timeout=40))

    def events(self):
        found, after = [], 0
        while True:
            _, page = self.ask("GET", f"/api/events?limit=1000&after={after}")
            if not page:
                return found
            found += page
            after = page[-1]["id"]

    def ran(self):
        """The keys for which a program of the flow has run here."""
        try:
            with open(os.path.join(self.project, "ran.txt"), encoding="utf-8") as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    def run_of(self, event):
        """The run of the flow for an event; None if there is none."""
        _, flows = self.ask("GET", f"/api/flows/why?event={event}")
        return next((it["run"] for it in flows if it["flow"].startswith("reviews") and it.get("run")), None)

    def state(self):
        """What it has: the export, and all events."""
        export = self.ctl("export", timeout=600)
        memories, links = {}, []
        for line in export.splitlines():
            record = json.loads(line)
            if record.get("record") == "memory":
                metadata = record.get("metadata", {})
                # The last version of each memory.
                memories[record["id"]] = (record["id"], metadata.get("key"), metadata.get("revision"))
            elif record.get("record") == "link" and record["type"] == "related_to":
                links.append(f"{record['from']}-{record['to']}")
        events = [(it["id"], it["data"].get("key")) for it in self.events()]
        return State([memories[it] for it in sorted(memories)], events, links, export)


def settle(machines, seconds=60):
    """Waits until all machines have applied the same position, which stays."""
    last, since = None, time.monotonic()

    def same():
        nonlocal last, since
        found = {it.position() for it in machines}
        store = None
        if len(found) == 1:
            position = found.pop()
            if position != last:
                last, since = position, time.monotonic()
                return None
            # The follower may have read what its parts have not applied yet.
            store = time.monotonic() - since > 1.0
        else:
            last = None
        return last if store else None

    position = until(same, "all machines have the same position", seconds=seconds)
    for machine in machines:
        headers, _ = machine.ask("GET", "/api/memory/status")
        exact = {"Waypost-Min-Position": headers["Waypost-Position"]}
        machine.ask("GET", "/api/memory/status", exact)
    return position
