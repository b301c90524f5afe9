"""Advice of the founding documents that has no figures there, and what is found of it today."""

import functools
from importlib.resources import files

import msgspec

from httpdyno.model import Record, Verdict


class Advice(Record, frozen=True):
    """One advice, and the bundled study that asks it. It goes by the study's name."""

    study: str
    chapter: str
    """The documents, and where in them."""
    says: str
    """What they say, in one sentence."""
    claim: str = ""
    """The study's change that is about it: `knob → level`, or a candidate's name. Empty: the
    first."""

    @property
    def name(self) -> str:
        """What the command line calls it."""
        return self.study

    @property
    def command(self) -> str:
        """That runs its study."""
        return f"httpdyno book run {self.name}"


class Told(Record, frozen=True):
    """What a run of the study found of the advice."""

    name: str
    claim: str
    """The change: `knob → level`, or a candidate's name."""
    verdict: Verdict
    badge: str
    """The verdict in a word or two, with how the candidate failed, where it did."""
    says: str
    """Which figure, by how much, with its interval; or why there is none."""
    measured_at: str
    """ISO 8601, UTC: when the run began."""
    run_id: str
    """Of the stored run, for `httpdyno report`."""
    metric: str = ""
    """What the verdict rests on; empty where nothing was measured."""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    """None where nothing bounds it."""
    confidence: float | None = None
    n_starts: int = 0
    host: str = ""
    """Processor, cores and kernel."""
    version: str = ""
    """Of the server."""
    seed: int | None = None


class AdviceHere(Record, frozen=True):
    """An advice with what this machine has to say of it."""

    advice: Advice
    title: str
    """Of the study."""
    claim: str
    """That is told of a run."""
    budget_s: float
    """What the study may take."""
    reason: str = ""
    """Why it cannot run here; empty where it can."""
    now: Told | None = None
    """What was found here last."""

    @property
    def name(self) -> str:
        """What the command line calls it."""
        return self.advice.name


class _File(Record, frozen=True):
    advice: tuple[Advice, ...]


@functools.cache
def _declared() -> _File:
    text = files("httpdyno.book").joinpath("advice.toml").read_bytes()
    return msgspec.toml.decode(text, type=_File)


def all_advice() -> tuple[Advice, ...]:
    """Return what is declared, in the order of the documents."""
    return _declared().advice


def advice(name: str) -> Advice | None:
    """Return the one of that name; None where there is none."""
    return next((each for each in all_advice() if each.name == name), None)
