"""What is left when a command is killed at a random moment, and whether a live run stays untouched.

Beside one live run each command runs in a view: an overlay over the folders of runs, a chroot,
another mount or pid namespace, or none. It is stopped, all that came from it is listed, and then it
gets a signal. All of that must end by itself, the next command must remove the files, and say
nothing that looks like a bug. Whatever was killed, and however the next command sees the folders,
the live run goes on.
"""

import os
import random
import shutil
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil
from benches.faults.family import Count
from benches.faults.live import LiveRun
from benches.faults.small_study import Arena, Said, arena
from benches.faults.trace import Trace, left_mounts
from benches.faults.view import VIEWS, base_of_views, is_forked, views_complaint, words_of

C = TypeVar("C")

_LATEST_S = 6.0
"""By then starts are measured, and those before end in the background."""
_AGAIN_S = 5.0
"""A process that is the first of a pid namespace hears no signal before it listens to it."""
_END_S = 60.0
_NONE = "none"
_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_WHAT = {
    "processes": "processes left by themselves",
    "sockets": "ports left listened on",
    "groups": "control groups left",
    "folders": "folders left after the next command",
    "mounts": "mounts left",
    "unwell": "next commands that failed",
    "stuck": "commands that did not end",
    "live": "harm to the live run",
}
_NGINX = """
error_log {at}/error.log; pid {at}/nginx.pid; events {{}}
http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {at}; }} }}
"""


def commands(place: Arena, live: LiveRun) -> dict[str, tuple[str, ...]]:
    """Return all commands, those that take long so that they are killed in the midst."""
    study, port = str(place.folder), live.port
    site = place.folder / "nginx.conf"
    site.write_text(_NGINX.format(at=place.folder, port=port[1:]), encoding="utf-8")
    found: dict[str, tuple[str, ...]] = {
        "tune": ("tune", study),
        "compare": ("compare", study, "--a", "workers=1", "--b", "workers=2"),
        "study check": ("study", "check", study),
        "study serve": ("study", "serve", study),
        "study run": ("study", "run", study),
        "demo": ("demo",),
        "book run": ("book", "run", "stat-call-cost-under-cpu-load"),
        "load": ("load", live.url, "-d", "30s", "-c", "2"),
        "inspect": ("inspect",),
        "watch": ("watch", port),
        "doctor": ("doctor",),
        "machine": ("machine",),
        "history": ("history",),
        "report": ("report",),
        "knobs": ("knobs", "gunicorn"),
        "formula": ("formula", "--markdown"),
    }
    if shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin"):
        found["adopt"] = ("adopt", str(site), "-o", str(place.folder / "adopted"))
        found["tune adopted"] = ("tune", str(place.folder / "adopted"), "--budget", "60s")
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Kill:
    """One of them."""

    name: str
    words: tuple[str, ...]
    view: str
    number: signal.Signals
    after_s: float

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.name}, {self.number.name} after {self.after_s:.2f} s, view {self.view}"


def measure(n: int, seed: int) -> Iterator[Count]:
    """Kill n commands, each at a random moment."""
    # A shell that runs this in the background has it ignore these, and so would the commands.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    found: dict[str, list[str]] = defaultdict(list)
    moments = random.Random(seed)
    complaint = views_complaint()
    n_ended = 0
    with ExitStack() as stack:
        place, base = stack.enter_context(arena()), stack.enter_context(base_of_views())
        live = LiveRun.begun(place)
        known = commands(place, live)
        # First of all, so that there is what `tune adopted` takes.
        if "adopt" in known:
            place.said(*known["adopt"])
        names = _drawn(list(known), moments)
        views = _drawn([_NONE, *([] if complaint else VIEWS)], moments)
        numbers = _drawn(list(_SIGNALS), moments)
        for _ in range(n):
            name, view, number = next(names), next(views), next(numbers)
            after_s = moments.uniform(0.0, _LATEST_S)
            kill = Kill(name=name, words=known[name], view=view, number=number, after_s=after_s)
            left, was_killed = _left_of(kill, place, base, live)
            n_ended += not was_killed
            for what, which in left.items():
                found[what] += [f"{kill}: {each}" for each in which]
            if left["live"]:
                live = LiveRun.begun(place)
    note = f"{n_ended} had ended before" if not complaint else f"without views: {complaint}"
    for what, name in _WHAT.items():
        which = found[what]
        yield Count(name=name, value=len(which), n=n, note=which[0] if which else note)
        note = ""


def _drawn(choices: Sequence[C], moments: random.Random) -> Iterator[C]:
    """Yield all of them in random order, again and again."""
    while True:
        yield from moments.sample(choices, len(choices))


def _left_of(
    kill: Kill, place: Arena, base: Path, live: LiveRun
) -> tuple[dict[str, list[str]], bool]:
    """Kill a command; return what was left, and whether it still ran."""
    before = ()
    if kill.view != _NONE:
        before = words_of(kill.view, covers=(place.folder, place.memory), base=base)
    output = place.folder / "killed.txt"
    process = place.start(*kill.words, to=output, before=before)
    trace = _signalled(process, kill)
    has_ended = _has_ended(process, kill)
    left: dict[str, list[str]] = {}
    left["stuck"] = [] if has_ended else [output.read_text(encoding="utf-8")[-200:]]
    left["processes"] = trace.left_processes() if trace else []
    left["sockets"] = trace.left_sockets() if trace else []
    next_said = place.said("history")
    left["unwell"] = [] if _is_well(next_said) else [next_said.text.strip()[-200:]]
    left["groups"] = trace.left_groups() if trace else []
    left["folders"] = [str(each) for each in _run_folders(place) if each not in live.folders]
    left["mounts"] = left_mounts(place.folder, place.memory, base)
    left["live"] = [words] if (words := live.complaint()) else []
    return left, trace is not None


def _signalled(process: subprocess.Popen[str], kill: Kill) -> Trace | None:
    """Signal a command at its moment; return what there was of it, None where it had ended."""
    try:
        process.wait(kill.after_s)
    except subprocess.TimeoutExpired:
        pass
    else:
        return None
    try:
        victim = _victim(process, kill)
        victim.suspend()
        _await_stop(victim)
        trace = Trace.of(victim.pid)
        victim.send_signal(kill.number)
        victim.resume()
    except (psutil.NoSuchProcess, FileNotFoundError, StopIteration):
        return None
    return trace


def _victim(process: subprocess.Popen[str], kill: Kill) -> psutil.Process:
    """Return the command itself, once it is run."""
    whole = psutil.Process(process.pid)
    deadline_s = time.monotonic() + _END_S
    while time.monotonic() < deadline_s:
        found = (
            (whole.children() or [None])[0]
            if kill.view != _NONE and is_forked(kill.view)
            else whole
        )
        with suppress(psutil.NoSuchProcess):
            if found and "httpdyno" in " ".join(found.cmdline()[:2]):
                return found
        if process.poll() is not None:
            break
        time.sleep(0.01)
    raise psutil.NoSuchProcess(process.pid)


def _await_stop(victim: psutil.Process) -> None:
    deadline_s = time.monotonic() + _END_S
    while victim.status() != psutil.STATUS_STOPPED and time.monotonic() < deadline_s:
        time.sleep(0.001)


def _has_ended(process: subprocess.Popen[str], kill: Kill) -> bool:
    """Wait for its end, signalling again meanwhile; return whether it came before it was killed."""
    deadline_s = time.monotonic() + _END_S
    while time.monotonic() < deadline_s:
        try:
            process.wait(_AGAIN_S)
        except subprocess.TimeoutExpired:
            with suppress(psutil.NoSuchProcess):
                _victim(process, kill).send_signal(kill.number)
        else:
            return True
    process.kill()
    process.wait()
    return False


def _is_well(said: Said) -> bool:
    return said.code == 0 and "Traceback" not in said.text


def _run_folders(place: Arena) -> Iterator[Path]:
    """Yield the folders of runs on disk and in memory, also those that were being made."""
    for root in (place.run, *place.memory.glob("httpdyno-*")):
        yield from (*root.glob("run-*"), *root.glob(".run-*"))
