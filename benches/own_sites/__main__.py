"""Whether people's own sites with planted mistakes are tuned by three commands.

Each site is written below a folder of the bench's and started as its owner starts it: nginx before
php-fpm and before gunicorn, Apache, gunicorn in the background, node, uvicorn. Then only commands
of httpdyno are run, `adopt :PORT`, `tune`, `report --diff`, each once. Told is for each whether it
was adopted, whether each planted mistake was proposed and the largest one tried first and proven,
what else was proven, what the final claim says, how long it took, how long the diff is, and whether
the site was left as it was. At last the diff is applied with `patch`, the site started anew and
adopted again: what it finds then has to be the proven configuration. `--heads` keeps the first 25
lines of what `tune` printed. Needs root, nginx, php-fpm, Apache with mod_perl, node and `patch`;
figures are those of an idle machine, and take about 15 minutes.

Two more are adopted as they stand, and only where they are named: `planted` has knobs that cannot
matter, of which at most one may be kept, and `mod_perl` has `.htaccess` files to be inlined.

`applications` are others, which are adopted and not tuned: those that ask what they may write, of
Debian (`make bench-applications` unpacks them) and scripts that ask as others do. The real servers
run meanwhile. A line tells of each whether the rehearsal, `study check` and two starts of
`study serve` answered as the real one, or `adopt` and `check` refused by name what did not; a
`compare` is run on each, and neither files nor sockets of the real one may be touched.

Example:
    .venv/bin/python -m benches.own_sites
    .venv/bin/python -m benches.own_sites --only node uvicorn --budget 2m --heads heads
    .venv/bin/python -m benches.own_sites --only applications --json answers.json
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
from benches.own_sites.answers import told as answers_told
from benches.own_sites.answers import tried
from benches.own_sites.applications import APPLICATIONS
from benches.own_sites.evening import EVENING, EveningSite, Server
from benches.own_sites.ground import open_to_all
from benches.own_sites.running import Running, adopt_orphans, started_as
from tests.commands import exit_on_signals
from tests.real.sites.own import mod_perl
from tests.real.sites.planted import INERT, MISTAKES, PAGES, planted_site

from httpdyno.catalog import open_study
from httpdyno.errors import HttpdynoError
from httpdyno.model import Level, level_text
from httpdyno.units import duration_s

ALL_APPLICATIONS = "applications"
MOST_S = 600.0
N_HEAD = 25
"""Lines of a report that have to say what to change, and what is gained."""
MOST_INERT = 1
_INLINED = "inlined"
_WRITTEN = frozenset({"log", "run", "__pycache__"})
_REFUSED = 2
_PATCHED = {True: "the proven configuration", False: "not patched: nothing changes"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A site as its owner names it, and what is known of it."""

    folder: Path
    words: tuple[str, ...]
    """What stands after `adopt`, without what is tried besides."""
    mistakes: Mapping[str, tuple[Level, Level]]
    """The largest first."""
    inert: Mapping[str, tuple[Level, Level]] = field(default_factory=dict)
    most_diff_lines: int | None = None
    """None: as many as what is proven takes. Inlining alone takes five."""
    servers: tuple[Server, ...] = ()
    """What runs meanwhile, backends first."""
    port: int = 0
    path: str = "/"

    @property
    def files(self) -> dict[str, bytes]:
        """All of its files, without what its servers write while they run."""
        parts = [path for path in self.folder.iterdir() if path.name not in _WRITTEN]
        inside = [path for each in parts for path in (each, *each.rglob("*"))]
        found = sorted(path for path in inside if path.is_file())
        return {str(path): path.read_bytes() for path in found}


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of a site."""

    name: str
    took_s: float = 0.0
    first: str = ""
    """What was tried first."""
    largest: str = ""
    """The mistake that was to be tried first."""
    unproposed: tuple[str, ...] = ()
    """Planted mistakes that no step was to try."""
    missed: tuple[str, ...] = ()
    """Planted mistakes that were not proven."""
    inert_kept: tuple[str, ...] = ()
    final: str = "none"
    is_better: bool = False
    n_diff_lines: int = 0
    most_diff_lines: int | None = None
    touched: tuple[str, ...] = ()
    """Files of the site that differ after `tune`."""
    is_patched: bool = False
    """Whether there was anything to patch, and the site was adopted again."""
    differs: tuple[str, ...] = ()
    """What the patched site has, where that is not the proven configuration."""
    trouble: str = ""
    """What failed, where a command did."""
    text: str = ""
    """What `tune` printed."""

    @property
    def lines(self) -> list[str]:
        """What `tune` printed."""
        return self.text.splitlines()

    @property
    def is_right(self) -> bool:
        """Whether it is all that was asked for."""
        return (
            self.is_better
            and self.first == self.largest
            and self.largest not in self.missed
            and self.took_s <= MOST_S
            and len(self.inert_kept) <= MOST_INERT
            and (self.most_diff_lines is None or self.n_diff_lines <= self.most_diff_lines)
            and not (self.unproposed or self.touched or self.differs or self.trouble)
        )


def main() -> int:
    """Run it; 0 where each site has its right answer."""
    # What was started is ended, however this one is.
    exit_on_signals()
    adopt_orphans()
    arguments = parsed()
    results = []
    for name in [each for each in arguments.only if each in SITES]:
        build, budget = SITES[name]
        with tempfile.TemporaryDirectory(prefix="own-", dir="/srv") as below:
            Path(below).chmod(0o755)
            results.append(of_site(name, build(Path(below) / "site"), arguments.budget or budget))
        print("\n".join(told(results[-1])), flush=True)
        if arguments.heads is not None:
            arguments.heads.mkdir(parents=True, exist_ok=True)
            head = "\n".join(results[-1].lines[:N_HEAD])
            (arguments.heads / f"{name}.txt").write_text(f"{head}\n")
    right = sum(result.is_right for result in results)
    if results:
        print(f"{right} of {len(results)} sites have their right answer")
    return int(right < len(results)) | of_applications(arguments)


def of_applications(arguments: argparse.Namespace) -> int:
    """Tell of each application; 0 where no answer differs silently."""
    everyone = APPLICATIONS if ALL_APPLICATIONS in arguments.only else ()
    rows = []
    for name in dict.fromkeys(
        [*everyone, *(each for each in arguments.only if each in APPLICATIONS)]
    ):
        rows.append(tried(name, APPLICATIONS[name], arguments.packages, arguments.compare))
        print("\n".join(answers_told(rows[-1])), flush=True)
    if arguments.json is not None:
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(rows)) + b"\n")
    right = sum(row.is_right for row in rows)
    if rows:
        print(f"{right} of {len(rows)} applications answer as the real one, or are refused by name")
    return int(right < len(rows))


def of_site(name: str, case: Case, budget: str) -> Result:
    """Adopt and tune a site, apply what is proven, and look."""
    with tempfile.TemporaryDirectory(prefix="own-sites-") as work:
        Path(work).chmod(0o755)  # the servers' users look into their run folders
        run = _Commands(case, Path(work))
        before = case.files
        began_s = time.monotonic()
        try:
            run.start()
            began_s = time.monotonic()
            run.adopt("study", case.words, {knob: level for knob, (_, level) in case.inert.items()})
            outcome = run.tune("study", budget)
            took_s = time.monotonic() - began_s
            touched = tuple(
                sorted(path for path in before.keys() | case.files if _differ(path, before, case))
            )
            diff = run.diff(outcome["overlay_diff"], outcome["id"])
            found = run.patched(outcome["overlay_diff"], proven_of(outcome))
        except HttpdynoError as error:
            took_s = time.monotonic() - began_s
            return Result(name=name, took_s=took_s, trouble=str(error), text=run.text)
        finally:
            run.stop()
    result = judged(name, case, outcome, took_s, diff=diff, touched=touched, found=found)
    return replace(result, text=run.text)


def judged(  # noqa: PLR0913 - what there is to know of a run
    name: str,
    case: Case,
    outcome: Mapping,
    took_s: float,
    *,
    diff: str,
    touched: tuple[str, ...],
    found: Mapping[str, Level],
) -> Result:
    """Judge what a run says, and what the patched site was found to have. Pure."""
    proven = proven_of(outcome)
    final = outcome["final"]
    planned = {step.partition("=")[0] for step in outcome["plan"]["steps"]}
    ratio = final and (final["ratios"].get("throughput") or {})
    return Result(
        name=name,
        took_s=took_s,
        first=next((step["knob"] for step in outcome["steps"]), ""),
        largest=next(iter(case.mistakes)),
        unproposed=tuple(knob for knob in case.mistakes if knob not in planned),
        missed=tuple(knob for knob in case.mistakes if knob not in proven),
        inert_kept=tuple(knob for knob in case.inert if knob in proven),
        final=(
            f"{final['verdict']} {ratio['ratio']:.3g} × ({ratio['low']:.3g} … {ratio['high']:.3g})"
            if ratio
            else "none"
        ),
        is_better=bool(final) and final["verdict"] == "better" and not outcome["withdrawn"],
        n_diff_lines=sum(changes_something(line) for line in diff.splitlines()),
        most_diff_lines=case.most_diff_lines,
        touched=touched,
        is_patched=bool(found),
        differs=tuple(
            f"{knob} {level_text(found[knob])}, proven {level_text(level)}"
            for knob, level in proven.items()
            if knob in found and level_text(found[knob]) != level_text(level)
        ),
    )


def proven_of(outcome: Mapping) -> dict[str, Level]:
    """Return the knobs that the outcome changes → their levels. Pure."""
    start = outcome["plan"]["start"]
    return {k: v for k, v in outcome["configuration"].items() if v != start[k]}


def changes_something(line: str) -> bool:
    """Whether a line of a diff takes away or adds one. Pure."""
    return line[:1] in {"+", "-"} and not line.startswith(("+++ ", "--- "))


def told(result: Result) -> list[str]:
    """Return the lines that tell of a site. Pure."""
    most = "" if result.most_diff_lines is None else f" (at most {result.most_diff_lines})"
    rows = {
        "final over start": result.final,
        f"tried first, to be {result.largest}": result.first,
        "mistakes not proposed": ", ".join(result.unproposed),
        "mistakes not proven": ", ".join(result.missed),
        f"inert ones kept (at most {MOST_INERT})": ", ".join(result.inert_kept),
        f"lines of the diff{most}": str(result.n_diff_lines),
        "files of the site that differ": ", ".join(result.touched),
        "patched, it has": ", ".join(result.differs) or _PATCHED[result.is_patched],
        "trouble": result.trouble,
    }
    head = f"{result.name}: {'right' if result.is_right else 'MISSED'}, {result.took_s:.0f} s"
    lines = [head, *(f"  {name:<44}{text or 'none'}" for name, text in rows.items())]
    return lines if result.is_right else [*lines, *(f"  | {line}" for line in result.lines)]


class _Commands:
    """Runs commands of httpdyno where the site's owner stands, with a store of their own."""

    def __init__(self, case: Case, work: Path) -> None:
        self.text = ""
        """What `tune` printed."""
        self.said = ""
        """What the last command printed."""
        self._case = case
        self._real = Running(case.folder, case.port, case.path)
        self._work = work
        self._environment = {
            **os.environ,
            "HTTPDYNO_STORE": str(work / "store.sqlite"),
            "HTTPDYNO_DATA_DIR": str(work / "data"),
            "HTTPDYNO_RUN_DIR": str(work / "run"),
        }

    def start(self) -> None:
        """Start the real servers, where there are any."""
        if self._case.servers:
            self._real.start(self._case.servers)

    def stop(self) -> None:
        """End the real servers."""
        self._real.stop()

    def adopt(self, name: str, words: tuple[str, ...], tried: Mapping[str, Level]) -> None:
        """Adopt the site, and try these levels too."""
        knobs = [f"--knob={knob}={level_text(level)}" for knob, level in tried.items()]
        self._run("adopt", "-o", str(self._work / name), *knobs, *words)

    def tune(self, name: str, budget: str) -> dict:
        """Tune; return the run as its JSON has it."""
        file = self._work / "outcome.json"
        self._run(
            "tune", str(self._work / name), "--budget", budget, "--json", str(file), codes={0, 1}
        )
        self.text = self.said
        return msgspec.json.decode(file.read_bytes())

    def diff(self, shown: str, run_id: str) -> str:
        """Return the run's patch; what is `shown` where only a command line changes."""
        if not any(line.startswith("--- /") for line in shown.splitlines()):
            return shown
        file = self._work / "tuned.patch"
        self._run("report", run_id, "--diff", str(file), codes={0, 1})
        return file.read_text()

    def patched(self, shown: str, proven: Mapping[str, Level]) -> dict[str, Level]:
        """Change the site and how it is started; return what is found there then, by knob."""
        case, patch = self._case, self._work / "tuned.patch"
        if not proven or not (patch.exists() or case.servers):
            return {}
        self.stop()
        if patch.exists():
            self._ended(["patch", "-p1", "-d", "/", "-i", str(patch)], {0})
        if case.servers:
            members = tomllib.loads((self._work / "study/study.toml").read_text())["site"][
                "members"
            ]
            command = next((each["command"] for each in members if "command" in each), ())
            # Of each site the one that is a command is started first.
            first = started_as(case.servers[0], command, shown, self._work) if command else None
            self._real.start((first or case.servers[0], *case.servers[1:]))
        other = {**case.mistakes, **case.inert}
        # A variable that was not set has no level to ask for.
        was = {knob: level if level != "" else "development" for knob, (level, _) in other.items()}
        asked = {knob: was[knob] for knob in proven if knob in was}
        gone = [knob for knob in asked if proven[knob] == _INLINED]
        for knob in gone:
            # What is inlined cannot be inlined again: there is no such knob any more.
            words = ("adopt", "--dry-run", f"--knob={knob}={_INLINED}", *case.words)
            self._run(*words, codes={_REFUSED})
        self.adopt("patched", case.words, {k: v for k, v in asked.items() if k not in gone})
        found = open_study(str(self._work / "patched")).knobs
        return {**dict.fromkeys(gone, _INLINED), **{knob.name: knob.start for knob in found}}

    def _run(self, *words: str, codes: frozenset[int] | set[int] = frozenset({0})) -> None:
        self._ended([sys.executable, "-m", "httpdyno", *words], codes)

    def _ended(self, command: list[str], codes: frozenset[int] | set[int]) -> None:
        done = subprocess.run(
            command, cwd=self._case.folder, env=self._environment, capture_output=True, check=False
        )
        self.said = done.stdout.decode()
        if done.returncode not in codes:
            last = " | ".join((done.stdout + done.stderr).decode().splitlines()[-6:])
            raise HttpdynoError(f"{' '.join(command[1:4])} ended with {done.returncode}: {last}")


def _differ(path: str, before: Mapping[str, bytes], case: Case) -> bool:
    file = Path(path)
    return not file.is_file() or before.get(path) != file.read_bytes()


def _planted(folder: Path) -> Case:
    folder.mkdir(mode=0o755)
    site = planted_site(folder)
    gets = tuple(word for page in PAGES for word in ("--get", page))
    return Case(
        folder=folder,
        words=(site.front.main, "--with", site.php.main, *gets),
        mistakes=MISTAKES,
        inert=INERT,
        most_diff_lines=6,
    )


def _own(build: Callable) -> Callable[[Path], Case]:
    def case(folder: Path) -> Case:
        site = build(folder)
        words = (*site.options, *site.source)
        return Case(folder=folder, words=words, mistakes=site.mistakes, inert={})

    return case


def _evening(build: Callable[[Path], EveningSite]) -> Callable[[Path], Case]:
    def case(folder: Path) -> Case:
        folder.mkdir(mode=0o755)
        site = build(folder)
        open_to_all(folder)
        gets = tuple(word for page in site.gets for word in ("--get", page))
        allowed = tuple(word for effect in site.allow for word in ("--allow", effect))
        return Case(
            folder=folder,
            words=(f":{site.port}", *gets, *allowed),
            mistakes=site.mistakes,
            servers=site.servers,
            port=site.port,
            path=site.gets[0],
        )

    return case


_BUDGETS = {"apache": "10m"}
"""Its processes end all at once and come one by one, so that each window has to be long."""
SITES: dict[str, tuple[Callable[[Path], Case], str]] = {
    **{name: (_evening(build), _BUDGETS.get(name, "2m")) for name, build in EVENING.items()},
    "planted": (_planted, "5m"),
    "mod_perl": (_own(mod_perl), "8m"),
}
"""Name → what writes it, and the budget of its `tune`."""


def parsed() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.own_sites",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    choices = (*SITES, ALL_APPLICATIONS, *APPLICATIONS)
    parser.add_argument(
        "--only", nargs="+", choices=choices, default=tuple(EVENING), metavar="NAME"
    )
    parser.add_argument("--heads", type=Path, metavar="FOLDER", help="reports' first lines")
    parser.add_argument("--budget", type=_budget, metavar="TIME", help="of each tune")
    parser.add_argument(
        "--compare",
        type=_budget,
        metavar="TIME",
        default="60s",
        help="of the compare of each application; 0s: none  [default: 60s]",
    )
    parser.add_argument(
        "--packages",
        type=lambda text: Path(text).absolute(),
        metavar="FOLDER",
        default="target/applications",
        help="where packaging/applications.txt is unpacked  [default: target/applications]",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="the applications' rows")
    return parser.parse_args()


def _budget(text: str) -> str:
    duration_s(text)
    return text


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main())
