"""Which way of measuring a start has the least spread, and none of the bias.

Two servers differ by planted work whose worth is known (`truth.py`). Each start of both is measured
in several ways on the same processes, in random order: closed-loop windows in turn, as studies do;
windows in turn at a constant rate; and duets, both arms at the same time at the same rate. Each of
them on the machine as it is, and beside a process that burns a core for random spells. For each
way: spread within and between starts, bias, and how much of the spread covariates explain (what the
client used, known work between windows, what the host took) in starts that they were not fitted to.

Starts are kept in a file as they end. After Ctrl-C what there is is told; run again with the same
file, it measures the starts that are left. Bulej, Horký, Tůma, Farquet and Prokopec, Duet
Benchmarking (ICPE 2020), ask of a duet that what disturbs hits both alike, and that sharing caches
and cores changes neither more than the other: `side`, `size` and `from alone` are about the latter.

Example:
    .venv/bin/python -m research.duets
    .venv/bin/python -m research.duets --only turns --only duet --starts 5
    .venv/bin/python -m research.duets --server apache --save reports/duets-apache.jsonl
    .venv/bin/python -m research.duets --read --json reports/duets.json
"""

import argparse
import math
import random
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from benches.power.work.load import Cores
from benches.power.work.servers import STUDIES, BenchError, ServerKind
from benches.power.work.way import SIZES, WAYS
from research.duets.disturber import Disturber
from research.duets.finding import findings, others_cores
from research.duets.measuring import Key, Measuring, expected_s
from research.duets.record import Head, Start, append, lacking, read
from research.duets.told import text, truth_lines
from research.duets.truth import known_truth

from httpdyno.errors import HttpdynoError
from httpdyno.host.interruption import take_signals
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.run.leftovers import reap_leftovers
from httpdyno.telemetry.host import host_facts

REPOSITORY = Path(__file__).resolve().parents[2]
CONDITIONS = {"quiet": False, "disturbed": True}
INTERRUPTED = 130


def main() -> int:
    """Measure what was asked for, tell what is in the file; return the exit code."""
    arguments = parsed()
    take_signals()
    status = 0
    if not arguments.read:
        try:
            measure(arguments)
        except KeyboardInterrupt:
            print("interrupted: this is what there is", flush=True)
            status = INTERRUPTED
        except (BenchError, HttpdynoError) as error:
            print(f"error: {error}", file=sys.stderr)
            status = 3
    heads, starts = read(arguments.save) if arguments.save.exists() else ([], [])
    if arguments.read and heads:
        print("\n".join(truth_lines(heads[-1])))
    kept = [s for s in starts if not others_cores(s) > arguments.others]
    if len(kept) < len(starts):
        print(
            f"{len(starts) - len(kept)} of {len(starts)} starts are left out for what others used"
        )
    tell(heads, kept, arguments.json)
    return status


def measure(arguments: argparse.Namespace) -> None:
    """Measure starts into the file.

    Raises:
        BenchError: The machine has one core only, or a server does not come up.
    """
    cores = Cores()
    if cores.server == cores.client:
        raise BenchError("it takes two cores to keep client and servers apart")
    keys = [(way, CONDITIONS[each]) for each in arguments.condition for way in arguments.only]
    _, before = read(arguments.save) if arguments.save.exists() else ([], [])
    sizes = lacking(before, arguments.size, arguments.starts, keys)
    if not sizes:
        print(f"{arguments.save} has them all: `--starts` asks for more")
        return
    draw = random.Random(arguments.seed)
    reap_leftovers()
    with (
        new_run_root() as root,
        Disturber(arguments.seed, (cores.server, cores.client)) as disturber,
    ):
        kind = ServerKind(arguments.server, root)
        head = usable_head(arguments.save, kind, arguments.server)
        n_truths = arguments.truth_starts if head is None else 0
        lasts_s = expected_s(len(sizes), len(keys), n_truths)
        print(f"seed {arguments.seed}; about {lasts_s / 60:.0f} min", flush=True)
        if head is None:
            known = known_truth(kind, cores, draw, n_truths)
            facts = host_facts(kind.version)
            head = Head(
                began_at=now(),
                server=arguments.server,
                version=kind.version,
                cpu=facts.cpu,
                kernel=facts.kernel,
                seed=arguments.seed,
                units=kind.units,
                shares=known.shares,
                share_errors=known.errors,
                costs_s=known.costs_s,
            )
            append(arguments.save, head)
        print("\n".join(truth_lines(head)), flush=True)
        measuring = Measuring(kind, head, cores, draw, disturber)
        all_starts(measuring, draw.sample(sizes, len(sizes)), keys, arguments.save)


def all_starts(measuring: Measuring, sizes: Sequence[str], keys: Sequence[Key], file: Path) -> None:
    """Measure a start of each size, and keep each as it ends."""
    began_s = time.monotonic()
    for number, size in enumerate(sizes, start=1):
        start = measuring.start(size, keys)
        append(file, start)
        each_s = (time.monotonic() - began_s) / number
        print(
            f"{number} of {len(sizes)}: {size}, {start.units[0]} against {start.units[1]} units, "
            f"others used {others_cores(start):.2f} cores, the host took {start.steal_cores:.2f}; "
            f"{(len(sizes) - number) * each_s:.0f} s left",
            flush=True,
        )


def usable_head(file: Path, kind: ServerKind, server: str) -> Head | None:
    """Return the file's last head where it is of this machine and server; None for a new file.

    Raises:
        BenchError: The file is of another machine or server.
    """
    heads, _ = read(file) if file.exists() else ([], [])
    if not heads:
        return None
    facts = host_facts(kind.version)
    ours = (server, kind.version, facts.cpu, facts.kernel, kind.units)
    head = heads[-1]
    if ours != (head.server, head.version, head.cpu, head.kernel, head.units):
        raise BenchError(f"{file} is of another server or machine: name another file to `--save`")
    return head


def tell(heads: Sequence[Head], starts: Sequence[Start], file: Path | None) -> None:
    """Print the tables, and write them as JSON where that is wanted."""
    found = findings(starts)
    print("\n".join(text(found) or [f"{len(starts)} starts: too few to tell anything"]))
    if file is not None:
        document = {"told_at": now(), "n_starts": len(starts), "heads": heads, "found": found}
        file.parent.mkdir(parents=True, exist_ok=True)
        # What is not known is NaN here, and null there.
        file.write_bytes(msgspec.json.format(msgspec.json.encode(document)))


def now() -> str:
    """Return the time as records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def parsed() -> argparse.Namespace:
    """Return what was asked for."""
    ways = "\n".join(f"  {way.name:<13} {way.about}" for way in WAYS.values())
    parser = argparse.ArgumentParser(
        prog="python -m research.duets",
        description=f"{__doc__}\nWays:\n{ways}\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", choices=list(WAYS), action="append", help="ways [all]")
    parser.add_argument("--condition", choices=list(CONDITIONS), action="append", help="[both]")
    parser.add_argument("--size", choices=list(SIZES), action="append", help="[all]")
    parser.add_argument(
        "--starts", type=int, default=10, metavar="N", help="of each size, in all [10]"
    )
    parser.add_argument("--server", choices=sorted(STUDIES), default="gunicorn")
    parser.add_argument(
        "--truth-starts", type=int, default=6, metavar="N", help="that the truth is known from [6]"
    )
    parser.add_argument(
        "--save", type=Path, metavar="FILE", help="kept starts [reports/duets-SERVER.jsonl]"
    )
    parser.add_argument("--read", action="store_true", help="measure nothing, tell what is kept")
    parser.add_argument(
        "--others",
        type=float,
        default=math.inf,
        metavar="CORES",
        help="tell nothing of starts in which others used more [all are told]",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="what is told")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30), metavar="N")
    arguments = parser.parse_args()
    if arguments.truth_starts < 2:  # noqa: PLR2004 - one has no standard error
        parser.error("the truth takes 2 starts or more")
    arguments.only = arguments.only or list(WAYS)
    arguments.condition = arguments.condition or list(CONDITIONS)
    arguments.size = arguments.size or list(SIZES)
    arguments.save = arguments.save or REPOSITORY / "reports" / f"duets-{arguments.server}.jsonl"
    return arguments


if __name__ == "__main__":
    sys.exit(main())
