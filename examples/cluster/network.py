"""Networks of the machines: namespaces that root can cut, or proxies on this machine's own ports."""

import os
import select
import signal
import socket
import sys
import threading

from install import ip
from processes import Failed, run, send, spawn

INSIDE = "WAYPOST_CLUSTER_INSIDE"
POSTGRES_PORT = 5432
PIECE = 65536


def enter_namespace():
    """Starts this program again in a network of its own, if it may: everything there ends with it."""
    if os.environ.get(INSIDE) or os.geteuid() != 0:
        return
    program = ["unshare", "--net", "--", sys.executable, *sys.argv]
    if os.system("unshare --net true 2>/dev/null") == 0:  # noqa: S605
        os.environ[INSIDE] = "1"
        os.execvp(program[0], program)


def network():
    return Namespaces() if os.environ.get(INSIDE) else Proxies()


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


class Namespaces:
    """Each machine and each server has a network namespace, and a cable to a common bridge."""

    kind = "network namespaces"

    def __init__(self):
        self.ip = ip()
        self.holders, self.addresses, self.cut_off = {}, {}, set()
        self._ip("link", "set", "lo", "up")
        self._ip("link", "add", "bridge", "type", "bridge")
        self._ip("address", "add", "10.77.0.254/24", "dev", "bridge")
        self._ip("link", "set", "bridge", "up")

    def _ip(self, *arguments):
        run([self.ip, *arguments])

    def add(self, name):
        number = len(self.addresses) + 1
        holder = spawn(["unshare", "--net", "--", "sleep", "infinity"])
        ours = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{holder.pid}/ns/net") == ours:
            if holder.poll() is not None:
                raise Failed("cannot create a network namespace")
        self.holders[name] = holder.pid
        self.addresses[name] = f"10.77.0.{number}"
        self._ip("link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
        self._ip("link", "set", f"to-{name}", "master", "bridge", "up")
        inside = self.inside(name, [self.ip])
        run([*inside, "address", "add", f"{self.addresses[name]}/24", "dev", "eth0"])
        run([*inside, "link", "set", "eth0", "up"])
        run([*inside, "link", "set", "lo", "up"])

    def inside(self, name, command):
        return ["nsenter", f"--net=/proc/{self.holders[name]}/ns/net", "--", *command]

    def address(self, name):
        return self.addresses[name]

    def port(self, usual):
        return usual

    def database(self, _machine, servers):
        """The hosts and ports at which a machine reaches these servers."""
        return [(self.addresses[it.name], it.port) for it in servers]

    def cut(self, name):
        self.cut_off.add(name)
        self._ip("link", "set", f"to-{name}", "down")

    def heal(self, name):
        self.cut_off.discard(name)
        self._ip("link", "set", f"to-{name}", "up")

    def can_cut_servers(self):
        return True

    def close(self):
        send(self.holders.values(), signal.SIGKILL)


class Proxies:
    """All are on this machine, and each machine reaches the database through proxies that can be cut."""

    kind = "proxies on 127.0.0.1"

    def __init__(self):
        self.proxies = {}

    def add(self, name):
        self.proxies[name] = []

    def inside(self, _name, command):
        return list(command)

    def address(self, _name):
        return "127.0.0.1"

    def port(self, _usual):
        return free_port()

    def database(self, machine, servers):
        made = [Proxy(it.port) for it in servers]
        self.proxies[machine] += made
        return [("127.0.0.1", it.port) for it in made]

    def cut(self, name):
        for proxy in self.proxies[name]:
            proxy.open.clear()

    def heal(self, name):
        for proxy in self.proxies[name]:
            proxy.open.set()

    def can_cut_servers(self):
        return False

    def close(self):
        pass


class Proxy:
    """Forwards connections to a port. While it is cut, no byte passes and none is refused."""

    def __init__(self, target):
        self.target = target
        self.open = threading.Event()
        self.open.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            near, _ = self.listener.accept()
            threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near):
        self.open.wait()
        try:
            far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
        except OSError:
            near.close()
            return
        other = {near: far, far: near}
        with near, far:
            while True:
                ready, _, _ = select.select([near, far], [], [])
                self.open.wait()
                for end in ready:
                    try:
                        piece = end.recv(PIECE)
                        if not piece:
                            return
                        other[end].sendall(piece)
                    except OSError:
                        return
