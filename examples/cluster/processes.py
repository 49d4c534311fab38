"""Processes that the example starts, and that end with it."""

import ctypes
import os
import signal
import subprocess
import threading
import time

PR_SET_CHILD_SUBREAPER = 36
# Debian's numbers of nobody and nogroup.
NOBODY, NOGROUP = 65534, 65534

_lock = threading.Lock()
_known = {}
_watching = False


class Failed(Exception):
    """A step that failed; the message is for the person at the terminal."""


def adopt_orphans():
    """Makes this process the parent of orphans, so that it can end them, and reaps them."""
    global _watching
    if _watching:
        return
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise Failed("this kernel has no child subreapers")
    _watching = True
    threading.Thread(target=_reap, daemon=True).start()


def _reap():
    # PostgreSQL refuses to start while a zombie has the process id of its lock file.
    while _watching:
        with _lock:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                ended = None
            if ended is not None:
                child = _known.pop(ended.si_pid, None)
                if child is None:
                    os.waitpid(ended.si_pid, 0)
                else:
                    child.poll()
                continue
        time.sleep(0.02)


def spawn(command, **options):
    """Starts a process, which is ended with this one."""
    options.setdefault("stdin", subprocess.DEVNULL)
    with _lock:
        # A session of its own: Ctrl-C reaches only this program, which then ends the others in order.
        child = subprocess.Popen([str(it) for it in command], start_new_session=True, **options)
        if _watching:
            _known[child.pid] = child
    return child


def run(command, check=True, timeout=120, **options):
    """Runs a program to its end, and returns what it wrote to stdout."""
    child = spawn(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    try:
        out, errors = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        raise Failed(f"{command[0]} took longer than {timeout} s") from None
    if check and child.returncode != 0:
        said = errors.decode(errors="replace").strip()[-2000:]
        shown = " ".join(str(it) for it in command)
        raise Failed(f"`{shown}` failed with status {child.returncode}: {said}")
    return out


def as_postgres(command):
    """The command as a user that PostgreSQL runs as: not root."""
    if os.geteuid() != 0:
        return list(command)
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--", *command]


def give_to_postgres(path):
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOGROUP)


def parents():
    """The parent of each process."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            found[int(entry)] = int(parent)
    return found


def descendants(root):
    """All processes below this one."""
    children = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found, todo = [], [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def end_all():
    """Ends everything that this process has started, also what that has started."""
    for _ in range(200):
        left = descendants(os.getpid())
        if not left:
            return
        send(left, signal.SIGKILL)
        time.sleep(0.02)


def until(condition, what, seconds=60, pause=0.05, alive=None):
    """Waits for a condition, and returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if alive is not None and alive.poll() is not None:
            raise Failed(f"{what}: the process ended with status {alive.returncode}")
        if time.monotonic() >= deadline:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(pause)
