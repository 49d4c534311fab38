"""Installs what the example needs and the machine lacks: with apt, and with pip below target/."""

import glob
import os
import shutil
import subprocess
import sys

from processes import Failed, as_postgres, run

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
CACHE = os.path.join(ROOT, "target", "cluster")
PATRONI = ["patroni[etcd3]==4.1.5", "psycopg[binary]>=3.2,<4"]


class Programs:
    """Where the programs of the database are."""

    def __init__(self, postgres, etcd, patroni, python):
        self.postgres, self.etcd, self.patroni, self.python = postgres, etcd, patroni, python


def programs(say, simple):
    """Finds the programs, and installs those that are missing."""
    packages = []
    if postgres() is None:
        packages.append("postgresql")
    if not shutil.which("setpriv"):
        packages.append("util-linux")
    if not simple and not can_run([system_python(), "-m", "pip", "--version"]):
        packages.append("python3-pip")
    if os.geteuid() == 0 and not ip():
        packages.append("iproute2")
    if packages:
        apt(say, packages)
    if simple:
        return Programs(postgres(), None, None, None)
    return Programs(postgres(), etcd(say), patroni(say), system_python())


def ip():
    return shutil.which("ip") or next(iter(glob.glob("/usr/sbin/ip")), None)


def postgres():
    """The folder with the newest PostgreSQL that Debian installed, or that WAYPOST_TEST_POSTGRES names."""
    chosen = os.environ.get("WAYPOST_TEST_POSTGRES")
    if chosen:
        return chosen
    found = [it for it in glob.glob("/usr/lib/postgresql/*/bin/postgres") if int(it.split("/")[4]) >= 15]
    return os.path.dirname(max(found, key=lambda it: int(it.split("/")[4]))) if found else None


def system_python():
    """A Python that the user of PostgreSQL may run, too."""
    for candidate in ("/usr/bin/python3", sys.executable):
        if os.path.exists(candidate) and can_run(as_postgres([candidate, "-c", "pass"])):
            return candidate
    raise Failed("the user nobody can run no Python: install Debian's python3")


def can_run(command):
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", check=False)
    return done.returncode == 0


def apt(say, packages):
    say(f"installing {', '.join(packages)}")
    as_root = [] if os.geteuid() == 0 else ["sudo"]
    if "postgresql" in packages:
        # The example has servers of its own: Debian's package need not create and start one.
        folder = "/etc/postgresql-common/createcluster.d"
        run([*as_root, "mkdir", "-p", folder])
        note = f"echo 'create_main_cluster = false' >{folder}/waypost-tests.conf"
        run([*as_root, "sh", "-c", note])
    quiet = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    run([*quiet, "update"], timeout=300)
    run([*quiet, "install", "--yes", *packages], timeout=900)


def etcd(say):
    """etcd: the installed one, or Debian's, unpacked below target/, because its package starts a service."""
    unpacked = os.path.join(CACHE, "etcd", "usr", "bin", "etcd")
    found = shutil.which("etcd")
    if found or os.path.exists(unpacked):
        return found or unpacked
    say("unpacking Debian's etcd-server below target/cluster")
    folder = os.path.join(CACHE, "packages")
    os.makedirs(folder, exist_ok=True)
    try:
        download(folder)
    except Failed:
        as_root = [] if os.geteuid() == 0 else ["sudo"]
        run([*as_root, "apt-get", "-qq", "update"], timeout=300)
        download(folder)
    package = glob.glob(os.path.join(folder, "etcd-server_*.deb"))[0]
    run(["dpkg-deb", "--extract", package, os.path.join(CACHE, "etcd")])
    return unpacked


def download(folder):
    # Without the sandbox, apt does not need the folder to be open to its own user.
    run(["apt-get", "-qq", "--option", "APT::Sandbox::User=root", "download", "etcd-server"], timeout=300, cwd=folder)


def patroni(say):
    """The folder with Patroni and what it imports."""
    python = system_python()
    folder = os.path.join(CACHE, "patroni")
    stamp = os.path.join(folder, "installed")
    version = run([python, "-c", "import sys; print(sys.version_info[:2])"]).decode()
    wanted = f"{PATRONI} {version}"
    if os.path.exists(stamp) and open(stamp, encoding="utf-8").read() == wanted:
        return folder
    say("installing Patroni 4 with pip below target/cluster")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--root-user-action", "ignore", "--target", folder, *PATRONI], timeout=600)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(wanted)
    return folder
