"""The database: three servers of PostgreSQL under Patroni with quorum commit, or one server alone."""

import http.client
import json
import os
import secrets
import shutil
import signal

from network import POSTGRES_PORT
from processes import Failed, as_postgres, descendants, give_to_postgres, run, send, spawn, until

# The least that Patroni allows. A primary that is lost with its machine is replaced after this.
TTL = 20
SETTINGS = {
    "fsync": "on", "shared_buffers": "32MB", "max_connections": "60", "wal_keep_size": "2GB",
    "wal_log_hints": "on", "hot_standby": "on", "max_wal_senders": "8", "password_encryption": "scram-sha-256",
}


class Server:
    """One server of PostgreSQL, perhaps under Patroni."""

    def __init__(self, name, folder, address, port):
        self.name, self.folder, self.address, self.port = name, folder, address, port
        self.data = os.path.join(folder, "data")
        self.process = self.rest = self.command = None
        self.log = os.path.join(folder, "log")

    def start(self, network):
        with open(self.log, "ab") as log:
            command = network.inside(self.name, as_postgres(self.command))
            self.process = spawn(command, stdout=log, stderr=log, cwd="/", env=self.environment())

    def environment(self):
        kept = {key: it for key, it in os.environ.items() if key in ("LANG", "TZ")}
        return {**kept, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.folder, **self.extra}

    extra = {}

    def postmaster(self):
        """The first process of PostgreSQL, if it runs."""
        try:
            with open(os.path.join(self.data, "postmaster.pid"), encoding="utf-8") as file:
                pid = int(file.readline())
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                return pid if file.read().startswith("postgres") else None
        except (OSError, ValueError):
            return None

    def processes(self, with_patroni=True):
        """All processes of the server."""
        first = self.postmaster()
        found = [first, *descendants(first)] if first else []
        if with_patroni and self.process and self.process.poll() is None:
            found += [self.process.pid, *descendants(self.process.pid)]
        return list(dict.fromkeys(found))

    def kill(self, with_patroni):
        """Kills it as a power cut does, or PostgreSQL alone."""
        send(self.processes(with_patroni), signal.SIGKILL)

    def get(self, path, timeout=2.0):
        """What Patroni answers: the status, and the document."""
        connection = http.client.HTTPConnection(self.address, self.rest, timeout=timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException, ValueError):
            return 0, {}
        finally:
            connection.close()


class Database:
    """What the servers have in common."""

    def __init__(self, network, programs, folder):
        self.network, self.programs, self.folder = network, programs, folder
        self.password = secrets.token_hex(12)
        self.servers, self.etcd = [], None

    def place(self, name):
        folder = os.path.join(self.folder, name)
        os.makedirs(folder, mode=0o700)
        give_to_postgres(folder)
        self.network.add(name)
        server = Server(name, folder, self.network.address(name), self.network.port(POSTGRES_PORT))
        self.servers.append(server)
        return server

    def sql(self, server, text, timeout=10):
        """Runs SQL as the superuser of that server, at its socket."""
        command = [os.path.join(self.programs.postgres, "psql"), "--no-psqlrc", "--tuples-only", "--no-align",
                   "--quiet", "--set", "ON_ERROR_STOP=1", "--username=postgres", f"--host={server.folder}",
                   f"--port={server.port}", "--dbname=postgres", "--command", text]
        return run(command, timeout=timeout).decode().strip()

    def create(self, server):
        """Creates the user and the database of the cluster."""
        self.sql(server, f"CREATE ROLE waypost LOGIN PASSWORD '{self.password}'")
        self.sql(server, "GRANT pg_monitor TO waypost")
        self.sql(server, "CREATE DATABASE waypost OWNER waypost")

    def url(self, machine):
        """The URL for a machine: it names all servers. A private network, hence without TLS."""
        places = self.network.database(machine, self.servers)
        hosts = ",".join(f"{host}:{port}" for host, port in places)
        return f"postgresql://waypost@{hosts}/waypost?sslmode=disable", places

    def write_passwords(self, path, places):
        with open(path, "w", encoding="utf-8", opener=lambda it, flags: os.open(it, flags, 0o600)) as file:
            for host, port in places:
                file.write(f"{host}:{port}:waypost:waypost:{self.password}\n")


class Single(Database):
    """One server alone: it can be killed, but nothing replaces it, and its disk is the only one."""

    kind = "one PostgreSQL server"
    can_fail_over = False

    def start(self):
        server = self.place("db1")
        bin_folder = self.programs.postgres
        run(as_postgres([os.path.join(bin_folder, "initdb"), "--auth=trust", "--username=postgres",
                         "--encoding=UTF8", "--locale=C", f"--pgdata={server.data}"]), cwd="/")
        access = ("local all all trust\n"
                  "host all all 0.0.0.0/0 scram-sha-256\n")
        with open(os.path.join(server.data, "pg_hba.conf"), "w", encoding="utf-8") as file:
            file.write(access)
        server.command = [os.path.join(bin_folder, "postgres"), "-D", server.data,
                          *option("listen_addresses", server.address), *option("port", server.port),
                          *option("unix_socket_directories", server.folder)]
        for name, value in SETTINGS.items():
            server.command += option(name, value)
        server.start(self.network)
        until(lambda: self.answers(server), "PostgreSQL starts", alive=server.process)
        self.create(server)

    def answers(self, server):
        try:
            return self.sql(server, "SELECT 1") == "1"
        except Failed:
            return False

    def primary(self):
        server = self.servers[0]
        return server if self.answers(server) else None

    def restart(self, server):
        server.start(self.network)

    def all_answer(self):
        return self.primary() is not None


class Cluster(Database):
    """Three servers under Patroni, which keeps its leader in etcd; a commit waits for one of two standbys."""

    kind = "three PostgreSQL servers under Patroni, quorum commit"
    can_fail_over = True

    def start(self):
        self.start_etcd()
        library = self.readable(self.programs.patroni)
        for number in (1, 2, 3):
            self.place(f"db{number}")
        for server in self.servers:
            self.configure(server, library)
            server.start(self.network)
        first = until(self.primary, "Patroni has a primary", seconds=90)
        self.create(first)
        until(self.all_answer, "two standbys follow, and commits wait for one of them", seconds=90)

    def readable(self, path):
        """The path, or a copy, if the user of PostgreSQL may not read it."""
        if os.geteuid() != 0:
            return path
        copy = os.path.join(self.folder, os.path.basename(path))
        if os.path.isdir(path):
            shutil.copytree(path, copy)
        else:
            shutil.copy2(path, copy)
        return copy

    def start_etcd(self):
        folder = os.path.join(self.folder, "etcd-data")
        os.makedirs(folder, mode=0o700)
        self.network.add("etcd")
        host = self.network.address("etcd")
        client, peer = self.network.port(2379), self.network.port(2380)
        self.etcd_at = f"{host}:{client}"
        command = [self.programs.etcd, "--name=etcd", f"--data-dir={folder}", "--log-level=error",
                   f"--listen-client-urls=http://{host}:{client}", f"--advertise-client-urls=http://{host}:{client}",
                   f"--listen-peer-urls=http://{host}:{peer}", f"--initial-advertise-peer-urls=http://{host}:{peer}",
                   f"--initial-cluster=etcd=http://{host}:{peer}"]
        with open(os.path.join(self.folder, "etcd.log"), "ab") as log:
            # Debian reads ETCD_… variables, too: it gets none.
            self.etcd = spawn(self.network.inside("etcd", command), stdout=log, stderr=log, env={"PATH": "/usr/bin:/bin"})

    def configure(self, server, library):
        server.rest = self.network.port(8008)
        host = server.address
        config = {
            "scope": "waypost", "name": server.name,
            "restapi": {"listen": f"{host}:{server.rest}", "connect_address": f"{host}:{server.rest}"},
            "etcd3": {"host": self.etcd_at},
            "bootstrap": {
                "dcs": {
                    "ttl": TTL, "loop_wait": 2, "retry_timeout": 5,
                    # The vote of the quorum, not this, decides who has every acknowledged commit. A primary that was
                    # cut off may have reported WAL that no standby has: with less, none could follow it.
                    "maximum_lag_on_failover": 1 << 30,
                    "synchronous_mode": "quorum", "synchronous_mode_strict": True, "synchronous_node_count": 1,
                    # A primary that ended is replaced at once, instead of being started again first.
                    "primary_start_timeout": 0,
                    "postgresql": {"use_pg_rewind": True, "use_slots": True, "parameters": SETTINGS},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}],
            },
            "postgresql": {
                "listen": f"{host}:{server.port}", "connect_address": f"{host}:{server.port}",
                "data_dir": server.data, "bin_dir": self.programs.postgres,
                "pgpass": os.path.join(server.folder, "pgpass"), "basebackup": [{"checkpoint": "fast"}],
                "authentication": {
                    "superuser": {"username": "postgres", "password": self.password},
                    "replication": {"username": "replication", "password": self.password},
                },
                "parameters": {"unix_socket_directories": server.folder},
                "pg_hba": ["local all all trust", "host replication replication 0.0.0.0/0 scram-sha-256",
                           "host all all 0.0.0.0/0 scram-sha-256"],
            },
        }
        path = os.path.join(server.folder, "patroni.json")
        # JSON is YAML.
        with open(path, "w", encoding="utf-8", opener=lambda it, flags: os.open(it, flags, 0o600)) as file:
            json.dump(config, file)
        give_to_postgres(path)
        server.extra = {"PYTHONPATH": library}
        server.command = [self.programs.python, "-m", "patroni", path]

    def primary(self):
        """The server that Patroni reports as the primary."""
        return next((it for it in self.servers if it.get("/primary", 0.5)[0] == 200), None)

    def restart(self, server):
        server.start(self.network)

    def all_answer(self):
        """Whether a primary has two standbys, its commits wait for one, and Patroni may promote either."""
        primary = self.primary()
        if primary is None:
            return False
        _, cluster = primary.get("/cluster")
        roles = [it["role"] for it in cluster.get("members", ())]
        # Patroni notes this after PostgreSQL: a primary that is lost in between has no successor until it is back.
        if roles.count("quorum_standby") != len(self.servers) - 1:
            return False
        try:
            found = self.sql(primary, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'quorum'")
        except Failed:
            return False
        return int(found) == len(self.servers) - 1


def option(name, value):
    return ["-c", f"{name}={value}"]
