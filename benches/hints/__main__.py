"""Whether the budget that a refusal tells works when it is given, on a machine that others use.

Commands are given too small a budget beside two busy loops: `compare` of two and of three, `tune`,
and `study run` of ladders, tables, sweeps and factorials, of small studies of four servers, of
bundled ones and of an adopted site. Each refusal's hint is followed once. It works where all that
was begun has its fewest starts, also where these decide nothing. Needs nginx, Apache and node.

Example:
    .venv/bin/python -m benches.hints
    .venv/bin/python -m benches.hints --only gunicorn --count 3
"""

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benches.faults.small_study import Arena, Said, arena
from tests.commands import exit_on_signals
from tests.real.sites.own import own_node

N_LOOPS = 2
COUNT = 30
BUDGETS = ("9s", "5s", "1s")
"""The first of these that is refused; each case begins with another one."""
MOST_S = 900.0
_MEASURED = frozenset({0, 1})
"""Exit codes of a run that measured what it was to, whatever came of it."""
_UNMEASURED = re.compile(r"not\s+measured|no\s+time\s+was\s+left")
_HTTPDYNO = (sys.executable, "-m", "httpdyno")
_TOLD = re.compile(r"`--budget\s+(\w+)`\s+is\s+enough")
_METHOD = """
[method]
kind = "{kind}"
{knob}window = "100ms"
lead_in = "20ms"
warm_up = "50ms"
blocks_per_start = 2

[objective]
metric = "throughput_per_s"
margin = 0.3
"""
"""What brings less is no difference, so that few starts decide: the trial is of budgets."""
_APPLICATION = """
def application(environ, start_response):
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"""
_NODE = """
const [workers, port] = process.argv.slice(2).map(Number);
const cluster = require("cluster");
if (cluster.isPrimary) for (let k = 0; k < workers; k += 1) cluster.fork();
else require("http").createServer((_, answer) => answer.end("ok")).listen(port, "127.0.0.1");
"""
_KNOBS: Mapping[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "nginx": (("worker_processes", "1", ("2", "4")), ("access_log", '"at once"', ('"off"',))),
    "apache": (("MaxRequestWorkers", "20", ("10", "40")), ("EnableSendfile", "false", ("true",))),
    "gunicorn": (("workers", "1", ("2", "3")), ("threads", "1", ("2",))),
    "node": (("workers", "1", ("2", "3")), ("level", "1", ("2",))),
}
"""Of each server: a number first, then another one, with start and levels."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A command that takes a budget."""

    server: str
    words: tuple[str, ...]


def main() -> int:
    """Run it; 0 where each hint works."""
    exit_on_signals()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", nargs="+", default=[*_KNOBS, "stock", "adopted"])
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--loops", type=int, default=N_LOOPS)
    arguments = parser.parse_args()
    began_s, outcomes = time.monotonic(), []
    with arena() as place, busy(arguments.loops):
        for number, case in enumerate(cases(place, arguments.only)[: arguments.count]):
            outcomes.append(is_right(place, case, number))
    refused = [each for each in outcomes if each is not None]
    took = (time.monotonic() - began_s) / 60
    print(f"{sum(refused)} of {len(refused)} hints of budgets work; it took {took:.0f} min")
    return int(not refused or not all(refused) or len(refused) < len(outcomes))


def cases(place: Arena, only: Sequence[str]) -> list[Case]:
    """Return the commands, those of one server after those of another in turn."""
    of_server = [_of(place, server) for server in _KNOBS if server in only]
    found = [case for together in zip(*of_server, strict=True) for case in together]
    if "adopted" in only:
        found[:0] = _adopted(place)
    if "stock" in only:
        found[:0] = [
            Case(server="stock", words=("compare", "bookmarks", "--b", "workers=4")),
            Case(server="stock", words=("tune", "file-options")),
        ]
    return found


def is_right(place: Arena, case: Case, number: int) -> bool | None:
    """Have a budget refused, follow the hint and tell; None where nothing was refused."""
    words = (*case.words, "--seed", str(number + 1))
    for budget in (*BUDGETS[number % len(BUDGETS) :], BUDGETS[-1]):
        refused = _said(place, *words, "--budget", budget)
        if refused.code:
            break
    else:
        print(f"{case.server}: {' '.join(case.words)}: nothing was refused", flush=True)
        return None
    name = f"{number + 1} {case.server}: {' '.join(case.words)} --budget {budget}"
    told = _TOLD.search(" ".join(refused.text.split()))
    if told is None:
        print(f"{name}: no budget is told: {refused.text.strip()[-400:]}", flush=True)
        return False
    began_s = time.monotonic()
    followed = _said(place, *words, "--budget", told[1])
    took_s = time.monotonic() - began_s
    works = followed.code in _MEASURED and not _UNMEASURED.search(followed.text)
    trouble = "works" if works else f"FAILS ({followed.code}): {followed.text.strip()}"
    print(f"{name} → {told[1]}: {trouble} ({took_s:.0f} s)\n    {refused.error}", flush=True)
    return works


@contextmanager
def busy(n: int) -> Iterator[None]:
    """So many loops that never wait."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _of(place: Arena, server: str) -> list[Case]:
    (first, _, (level, other)), (second, _, (last,)) = _KNOBS[server]
    studies = {
        kind: str(_study(place.folder / f"{server}-{kind}", server, kind))
        for kind in ("ladder", "table", "sweep", "factorial")
    }
    ladder = studies["ladder"]
    two = ("--b", f"{first}={other}")
    commands = [
        ("compare", ladder, "--b", f"{first}={level}"),
        ("tune", ladder),
        ("study", "run", studies["sweep"]),
        ("compare", ladder, "--b", f"{first}={level}", *two),
        ("study", "run", studies["table"]),
        ("study", "run", studies["factorial"]),
        ("compare", ladder, "--b", f"{second}={last.strip(chr(34))}"),
    ]
    return [Case(server=server, words=words) for words in commands]


def _study(folder: Path, server: str, kind: str) -> Path:
    if server in {"nginx", "apache"}:
        _done([*_HTTPDYNO, "study", "new", server, "-o", str(folder), "--force"], folder.parent)
        text = (folder / "study.toml").read_text()
        head, rest = text.partition("[[knobs]]")[0], text[text.index("[workload]") :]
        rest = re.sub(r"\[objective\][^\[]*", "", rest)
        if kind == "sweep" and server == "nginx":
            template = folder / "nginx.conf.j2"
            template.write_text(template.read_text().replace("knob.access_log", "'at once'"))
    else:
        folder.mkdir()
        (folder / "small.py").write_text(_APPLICATION)
        (folder / "server.js").write_text(_NODE)
        head, rest = _HEADS[server], '[workload]\nconnections = 4\n\n[budget]\ntime = "60s"\n'
    knobs = _KNOBS[server]
    if kind == "sweep":  # of the first one alone
        knobs, head = knobs[:1], head.replace(', "{{ knob.level }}"', "")
    n_levels = 1 if kind == "factorial" else None
    tables = "".join(
        f'[[knobs]]\nname = "{name}"\nstart = {start}\n'
        f"levels = [{', '.join((start, *levels) if kind == 'sweep' else levels[:n_levels])}]\n\n"
        for name, start, levels in knobs
    )
    knob = f'knob = "{knobs[0][0]}"\n' if kind == "sweep" else ""
    method = _METHOD.format(kind=kind, knob=knob)
    (folder / "study.toml").write_text(f"{head}{tables}{rest}{method}")
    return folder


_HEADS = {
    "gunicorn": """format = 2
name = "hints"
title = "A small study"

[server]
adapter = "gunicorn"

[server.settings]
application = "small:application"

[[server.files]]
from = "small.py"
to = "small.py"

""",
    "node": """format = 2
name = "hints"
title = "A small study"

[server]
adapter = "command"
command = ["node", "server.js", "{{ knob.workers }}", "{port}", "{{ knob.level }}"]

[[server.files]]
from = "server.js"
to = "server.js"

""",
}


def _done(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)


def _adopted(place: Arena) -> list[Case]:
    site = own_node(place.folder / "site")
    study = str(place.folder / "adopted")
    _done([*_HTTPDYNO, "adopt", *site.options, "-o", study, *site.source], site.folder)
    words = ("compare", study, "--b", "node:workers=2")
    return [Case(server="adopted", words=words), Case(server="adopted", words=("tune", study))]


def _said(place: Arena, *words: str) -> Said:
    return _end(place.start(*words))


def _end(process: subprocess.Popen[str]) -> Said:
    try:
        text, _ = process.communicate(timeout=MOST_S)
    except subprocess.TimeoutExpired:
        process.terminate()
        text, _ = process.communicate()
    return Said(code=process.returncode, text=text)


if __name__ == "__main__":
    sys.exit(main())
