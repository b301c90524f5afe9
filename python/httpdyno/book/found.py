"""What one way of an experiment came to, and what all ways share."""

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from httpdyno.book.experiment import Experiment, Word
from httpdyno.catalog import open_study
from httpdyno.errors import AdapterError
from httpdyno.experiment.design.smoke_test import Up, one_server
from httpdyno.model import HostFacts, Level, Outcome, Plan, RatioInterval, Study, level_text
from httpdyno.registry import load_target
from httpdyno.report.shared.message import joined, texts
from httpdyno.units import format_number

CONFIDENCE = 0.95
_MANY = 100

Watch = Callable[[str], None]
"""Is told what is being done, many times."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Host:
    """What runs experiments has from whoever asks for them: the command line, or a test."""

    run_plan: Callable[[Plan], Outcome]
    """Runs a plan to its end, shows and stores it."""
    tell: Callable[[str], None]
    """Takes remarks, a line each."""
    watched: Callable[[str], AbstractContextManager[Watch]]
    """Shows what the experiment of this name is at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What one way came to."""

    verdict: Word
    says: str
    server: str = ""
    """What the server says of itself; empty where none ran."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Of the result: `ratio`, `low`, `high`, `count`, `n_starts`, `evidence`, `run_id`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One experiment, and what running it may take."""

    each: Experiment
    budget_s: float
    seed: int
    host: Host
    watch: Watch = lambda _words: None


def study_here(name: str) -> Study:
    """Return a bundled study whose server is here.

    Raises:
        AdapterError: Something that it needs is missing.
    """
    study = open_study(name)
    missing = texts(load_target(study).missing(study.server))
    if missing:
        raise AdapterError(
            f"study {name} cannot run here: {joined(missing)}",
            hint="`httpdyno doctor` says what each bundled study needs",
        )
    return study


def server_of(study: Study, at: Mapping[str, Level]) -> AbstractContextManager[Up]:
    """Return a fresh server of a study, alone, with these knobs not as it starts."""
    return one_server(load_target(study), study, study.start_configuration().with_values(at))


def version_of(study: Study) -> str:
    """Return what the study's server says of itself."""
    return load_target(study).version(study.server, Path(study.folder))


def levels_text(at: Mapping[str, Level]) -> str:
    """Return `depth=3, cache=disk`."""
    return ", ".join(f"{name}={level_text(level)}" for name, level in at.items())


def interval_figures(interval: RatioInterval) -> dict[str, float | None]:
    """Return `ratio`, `low` and `high`; None where nothing bounds it."""
    high = interval.high if interval.high < math.inf else None
    return {"ratio": interval.ratio, "low": interval.low, "high": high}


def bounds_text(interval: RatioInterval, after: str = "") -> str:
    """Return `0.97 × (0.95 … 0.99; 6 starts)`."""
    high = f"{interval.high:.3g}" if interval.high < math.inf else "∞"
    return f"{interval.ratio:.3g} × ({interval.low:.3g} … {high}{after})"


def number_text(value: float) -> str:
    """Return a number per second, or of bytes."""
    return format_number(value, 0 if value >= _MANY else 1)


def host_text(host: HostFacts) -> str:
    """Return processor, cores and kernel, as a result has them."""
    return f"{host.n_cpus} × {host.cpu}, {host.kernel}"
