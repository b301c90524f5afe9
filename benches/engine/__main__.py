"""Measure the engine: one line for each part of a figure, and all raw runs as JSON.

Exit code 0 when every figure could be measured, whatever came out; 1 when one could not, or with
`--strict` when one missed its target; 2 when the request makes no sense; 130 when it was
interrupted: the figures that were measured by then stand, and their raw runs are written.
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from benches.engine import (
    beside,
    calls,
    cost,
    coverage,
    drip,
    fuzz,
    limiting,
    memory,
    mix,
    pacing,
    poisson,
    truth,
)
from benches.engine.figure import Figure, Measure
from benches.engine.origin import allow_descriptors, check_built
from benches.engine.process import BenchError, others_seconds, stolen_seconds
from benches.engine.setting import PAIRS, REPOSITORY, Setting, cores, machine

FIGURES: dict[int, tuple[str, Measure]] = {
    1: ("client CPU per request", cost.measure),
    2: ("system calls and allocations per request", calls.measure),
    3: ("cost of a mix", mix.measure),
    4: ("constant rates", pacing.measure),
    5: ("percentiles in a stall", truth.measure),
    6: ("who was limiting", limiting.measure),
    7: ("memory", memory.measure),
    8: ("Poisson arrivals", poisson.measure),
    9: ("slow clients", drip.measure),
    10: ("coverage of intervals", coverage.measure),
    11: ("answers read right", fuzz.measure),
}

_INTERRUPTED = 130
_QUIET_CORES = 0.1
"""What others may use before it is said: they delay client and origin, and blur ratios."""


def main() -> int:
    """Measure what was asked for; return the exit code."""
    arguments = _parsed()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    allow_descriptors()
    server_cpu, client_cpu = cores()
    with tempfile.TemporaryDirectory(prefix="bench-engine-") as scratch:
        setting = Setting(
            server_cpu=server_cpu,
            client_cpu=client_cpu,
            pairs=arguments.pairs or (2 if arguments.quick else PAIRS),
            run_s=1.0 if arguments.quick else 3.0,
            is_quick=arguments.quick,
            has_competitors=arguments.with_competitors,
            scratch=Path(scratch),
        )
        _print_head(setting)
        figures, is_interrupted = _all_measured(arguments.only, setting, arguments.beside)
    _write(figures, arguments.json)
    status = _concluded(figures, is_strict=arguments.strict)
    return _INTERRUPTED if is_interrupted else status


def _all_measured(
    numbers: list[int], setting: Setting, checkout: Path | None
) -> tuple[list[Figure], bool]:
    """Return those that were measured, and whether they are not all because of a signal."""
    measures = FIGURES if checkout is None else _beside(checkout)
    figures: list[Figure] = []
    try:
        for number in numbers:
            figures.append(_measured(number, *measures[number], setting))
    except KeyboardInterrupt:
        left = ", ".join(map(str, numbers[len(figures) :]))
        print(f"interrupted: not measured {left}")
        return figures, True
    return figures, False


def _beside(checkout: Path) -> dict[int, tuple[str, Measure]]:
    return {
        number: (FIGURES[number][0], partial(measure, checkout))
        for number, measure in beside.MEASURES.items()
    }


def _measured(number: int, name: str, measure: Measure, setting: Setting) -> Figure:
    began_s, stolen_s, others_s = time.monotonic(), stolen_seconds(), others_seconds()
    try:
        check_built()
        figure = measure(setting)
    except BenchError as error:
        figure = Figure(number=number, name=name, failure=str(error))
    lasted_s = time.monotonic() - began_s
    figure.raw["lasted_s"] = lasted_s
    figure.raw["stolen_cores"] = (stolen_seconds() - stolen_s) / lasted_s
    figure.raw["others_cores"] = (others_seconds() - others_s) / lasted_s
    if figure.raw["others_cores"] + figure.raw["stolen_cores"] > _QUIET_CORES:
        figure.notes.append(
            f"meanwhile others used {figure.raw['others_cores']:.2f} cores of this machine, and "
            f"{figure.raw['stolen_cores']:.2f} were stolen: not quiet"
        )
    print("\n".join(figure.lines()), flush=True)
    return figure


def _print_head(setting: Setting) -> None:
    how = "the same core (not to be believed)" if setting.shares_core else "another core"
    print(
        f"origin on core {setting.server_cpu}, clients on core {setting.client_cpu}: {how}; "
        f"{setting.pairs} pairs of {setting.run_s:g} s"
        + ("; --quick: too short to be believed" if setting.is_quick else ""),
        flush=True,
    )


def _write(figures: list[Figure], file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    document = {"machine": machine(), "figures": [figure.record() for figure in figures]}
    file.write_text(json.dumps(document, indent=1))
    print(f"raw runs: {file.relative_to(REPOSITORY) if file.is_relative_to(REPOSITORY) else file}")


def _concluded(figures: list[Figure], *, is_strict: bool) -> int:
    measured = [figure for figure in figures if figure.is_measured]
    met = [figure for figure in measured if figure.is_met]
    print(f"{len(met)} of {len(figures)} figures met, {len(figures) - len(measured)} not measured")
    is_wrong = len(measured) < len(figures) or (is_strict and len(met) < len(figures))
    return int(is_wrong)


def _parsed() -> argparse.Namespace:
    listed = "\n".join(f"  {number:>2} {name}" for number, (name, _) in FIGURES.items())
    parser = argparse.ArgumentParser(
        prog="python -m benches.engine",
        description=f"{__doc__}\nFigures:\n{listed}\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", type=_numbers, metavar="1,4")
    parser.add_argument("--pairs", type=int, metavar="N", help="of interleaved runs [20]")
    parser.add_argument("--quick", action="store_true", help="see that it works, believe nothing")
    parser.add_argument("--strict", action="store_true", help="a missed target is a failure too")
    parser.add_argument(
        "--with-competitors", action="store_true", help="measure them in figures 2 and 4 as well"
    )
    parser.add_argument(
        "--beside",
        type=_checkout,
        metavar="DIR",
        help="compare figures 1 to 5 with the engine of another checkout",
    )
    parser.add_argument(
        "--json", type=Path, default=REPOSITORY / "reports" / "bench-engine.json", metavar="FILE"
    )
    arguments = parser.parse_args()
    can = list(FIGURES if arguments.beside is None else beside.MEASURES)
    arguments.only = arguments.only or can
    if unable := sorted(set(arguments.only) - set(can)):
        parser.error(f"--beside does not compare figure {unable}")
    return arguments


def _checkout(text: str) -> Path:
    try:
        return beside.checked(Path(text))
    except BenchError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _numbers(text: str) -> list[int]:
    numbers = [int(each) for each in text.split(",")]
    if unknown := set(numbers) - set(FIGURES):
        raise argparse.ArgumentTypeError(f"there is no figure {sorted(unknown)}")
    return numbers


if __name__ == "__main__":
    sys.exit(main())
