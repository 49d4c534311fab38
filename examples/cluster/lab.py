"""The whole set-up: the database, three machines, and the clients; and what can happen to them."""

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter

import install
from checker import Call, Run
from client import REVIEWED
from database import Cluster, Single
from machines import Machine
from network import network
from processes import Failed, adopt_orphans, end_all, send, spawn, until

NAMES = ("north", "east", "south")
CLIENT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "client.py")


class Log:
    """Lines with the time since the start."""

    def __init__(self):
        self.started = time.monotonic()
        self.lock = threading.Lock()

    def __call__(self, text):
        with self.lock:
            print(f"{time.monotonic() - self.started:7.1f} s  {text}", flush=True)


class Lab:
    """Everything that runs. `close` ends it all."""

    def __init__(self, say, programs, binaries, simple=False):
        self.say, self.binaries = say, binaries
        self.folder = tempfile.mkdtemp(prefix="waypost-cluster-")
        # The user of PostgreSQL must be able to enter it.
        os.chmod(self.folder, 0o711)
        adopt_orphans()
        self.network = network()
        self.database = (Single if simple else Cluster)(self.network, programs, self.folder)
        self.machines, self.histories, self.clients = [], [], []
        # Writes that the database has confirmed after a fault: when they worked again.
        self.faults = []

    def start_database(self):
        started = time.monotonic()
        self.database.start()
        self.say(f"{self.database.kind}: ready after {time.monotonic() - started:.0f} s; {self.network.kind}")

    def start_machines(self):
        """Three machines: the first one brings its store, the others join."""
        for name in NAMES:
            self.machines.append(Machine(name, self.folder, self.network, self.database, self.binaries))
        first, *others = self.machines
        first.start()
        first.connect().ask("POST", "/api/memory/add", {"content": "The team keeps its memories on three machines."})
        first.stop()
        self.say(f"{first.name}: ctl cluster init {first.url}")
        first.ctl("cluster", "init", first.url)
        first.name_itself()
        first.start()
        for machine in others:
            self.say(f"{machine.name}: ctl cluster join {machine.url}")
            machine.ctl("cluster", "join", machine.url)
            machine.name_itself()
            machine.start()
        self.say("three services run")

    def start_clients(self, names, processes=1, seed=1, pause=0.02, batch=1):
        """Starts the clients, each at home on one machine, in some processes."""
        chance = random.Random(seed)
        token = self.shared_token()
        reach = [(it.name, it.socket(), token) for it in self.machines]
        for number in range(processes):
            clients = []
            for place, name in list(enumerate(names))[number::processes]:
                home = place % len(reach)
                # Half of them never leave: they show whether a machine works while another one is suspended.
                clients.append({"name": name, "seed": chance.random(), "machines": reach[home:] + reach[:home],
                                "stays": place // len(reach) % 2 == 1})
            history = os.path.join(self.folder, f"history-{number}.ndjson")
            config = os.path.join(self.folder, f"clients-{number}.json")
            with open(config, "w", encoding="utf-8") as file:
                json.dump({"history": history, "clients": clients, "pause": pause, "batch": batch}, file)
            self.histories.append(history)
            log = open(os.path.join(self.folder, f"clients-{number}.log"), "wb")
            self.clients.append(spawn([sys.executable, "-B", CLIENT, config], stdout=log, stderr=log))

    def shared_token(self):
        """A token that all machines know: the key of a repeated request belongs to its token."""
        asked = {"note": "agents", "scopes": ["memory:read", "memory:write", "events:read", "events:publish"]}
        status, _, created = self.machines[0].connect().ask("POST", "/api/tokens", asked)
        if status != 201:
            raise Failed(f"the token for the agents was not created: {created}")
        for machine in self.machines:
            connection = machine.connect()
            connection.token = created["token"]
            until(lambda it=connection: it.ask("GET", "/api/tokens/current")[0] == 200, f"{machine.name} knows the token")
        return created["token"]

    def stop_clients(self, seconds=150):
        """Lets the clients finish their calls."""
        for child in self.clients:
            child.terminate()
        for number, child in enumerate(self.clients):
            until(lambda child=child: child.poll() is not None, "the clients finish", seconds=seconds)
            if child.returncode != 0:
                with open(os.path.join(self.folder, f"clients-{number}.log"), encoding="utf-8") as file:
                    raise Failed(f"a client ended with status {child.returncode}: {file.read()[-2000:]}")
        self.clients = []

    def calls(self):
        """The history so far."""
        found = []
        for path in self.histories:
            with open(path, encoding="utf-8") as file:
                found += [Call(*json.loads(line)) for line in file if line.endswith("\n")]
        return found

    def runs(self, seconds=600):
        """What became of the events that the flow wants, when all runs have ended."""
        machine = self.machines[0]

        def ended():
            states = ("queued", "running", "retrying")
            return not any(machine.ask("GET", f"/api/flows/runs?state={it}&limit=1")[1] for it in states)

        until(ended, "all runs of the flow end", seconds=seconds, pause=0.5)
        ran = Counter(key for it in self.machines for key in it.ran())
        found = []
        for event in machine.events():
            if event["type"].startswith(REVIEWED):
                run, key = machine.run_of(event["id"]), event["data"]["key"]
                tries = len(run["tries"]) if run else 0
                found.append(Run(event["id"], key, ran[key], tries, run["state"] if run else None))
        return found

    # What can happen.

    def _fault(self, name, **times):
        self.faults.append({"name": name, "at": time.monotonic(), **times})
        return self.faults[-1]

    def kill_primary(self, with_machine):
        """Kills the primary: PostgreSQL alone, or with Patroni, as when the machine loses power."""
        server = until(self.database.primary, "there is a primary", seconds=60)
        what = "primary and its Patroni" if with_machine and self.database.can_fail_over else "primary"
        self.say(f"kill -9 of the {what} on {server.name}")
        fault = self._fault(f"{what} killed")
        server.kill(with_machine)
        if not self.database.can_fail_over:
            self.database.restart(server)
        now = self.new_primary(None if not self.database.can_fail_over else server)
        fault["database"] = time.monotonic()
        self.say(f"{now.name} accepts writes {fault['database'] - fault['at']:.1f} s after the kill")
        if with_machine and self.database.can_fail_over:
            self.database.restart(server)
        return fault

    def new_primary(self, old):
        """Waits until another server commits, as the database promises to commit."""

        def committed():
            primary = self.database.primary()
            if primary is None or primary is old:
                return None
            try:
                # A transaction with an id: its commit waits for the standbys.
                self.database.sql(primary, "SELECT pg_current_xact_id()", timeout=3)
            except Failed:
                return None
            return primary

        return until(committed, "a server accepts writes", seconds=120)

    def whole(self):
        """Waits until all servers of the database are there again."""
        until(self.database.all_answer, "all servers of the database follow", seconds=150, pause=0.3)

    def kill_service(self, machine):
        self.say(f"kill -9 of the service on {machine.name}")
        fault = self._fault(f"service on {machine.name} killed")
        machine.kill()
        # Its connections end with it, and a system call in progress, such as fsync, ends before it.
        ended = time.monotonic() - fault["at"]
        machine.start()
        fault["up"] = time.monotonic()
        self.say(f"the service on {machine.name} ended after {ended:.1f} s and runs again after {fault['up'] - fault['at']:.1f} s")

    def cut(self, name, seconds, wait):
        self.say(f"the network of {name} is cut for {seconds:.0f} s")
        fault = self._fault(f"network of {name} cut")
        self.network.cut(name)
        wait(seconds)
        self.network.heal(name)
        fault["healed"] = time.monotonic()
        self.say(f"the network of {name} works again")

    def pause(self, name, pids, seconds, wait):
        self.say(f"SIGSTOP of {name} for {seconds:.0f} s")
        fault = self._fault(f"{name} paused")
        send(pids, signal.SIGSTOP)
        wait(seconds)
        send(pids, signal.SIGCONT)
        fault["healed"] = time.monotonic()

    def leader(self):
        """The machine that has the lease, if a machine can tell."""
        for machine in self.machines:
            try:
                found = next((it["name"] for it in machine.status()["machines"] if it["leads"]), None)
            except (Failed, ValueError):
                continue
            return next((it for it in self.machines if it.name == found), None)
        return None

    def close(self, keep):
        end_all()
        if keep:
            self.say(f"logs and data are in {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)


def prepare(say, simple):
    """Installs what is missing, and finds the binaries of Waypost."""
    programs = install.programs(say, simple)
    return programs, binaries(say)


def binaries(say):
    """The folder with `service` and `ctl`: WAYPOST_BIN, or what cargo builds."""
    chosen = os.environ.get("WAYPOST_BIN")
    if chosen:
        return os.path.realpath(chosen)
    say("building service and ctl")
    done = os.spawnvp(os.P_WAIT, "cargo", [
        "cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", os.path.join(install.ROOT, "Cargo.toml"),
        "--package", "waypost-service", "--package", "waypost-ctl", "--bin", "service", "--bin", "ctl"])
    if done != 0:
        raise Failed("cargo build failed")
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(install.ROOT, "target"))
    return os.path.join(target, "release")
