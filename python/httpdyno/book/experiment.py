"""The experiments of the founding documents, as `experiments.toml` declares them."""

import functools
from collections.abc import Iterable
from importlib.resources import files
from typing import Literal, Protocol

import msgspec

from httpdyno.metrics.table import CALL_METRIC, REQUEST_METRICS
from httpdyno.model import Level, Record

Word = Literal[
    "holds",
    "holds, larger",
    "holds, smaller",
    "no longer",
    "was an artefact",
    "cannot tell",
    "not comparable",
]
"""What becomes of a finding; `book.rule` says by which rule."""
HOLDING: tuple[Word, ...] = ("holds", "holds, larger", "holds, smaller")
GONE: tuple[Word, ...] = ("no longer", "was an artefact")
WORDS: tuple[Word, ...] = (*HOLDING, *GONE, "cannot tell", "not comparable")
METRICS = (*REQUEST_METRICS, CALL_METRIC)
"""Whose ratio may stand beside the one of then: what a study may decide by."""


class Then(Record, frozen=True):
    """What was found then, as one figure."""

    says: str
    """One sentence with the figures that are printed."""
    ratio: float | None = None
    """Of `of`; above 0. None where what was found is no ratio."""
    is_flat: bool = False
    """Whether the finding is that nothing depends on it, whatever small ratio was printed."""
    within: float = 1.25
    """How far from 1 nothing depends on it, either way; above 1."""
    count: float | None = None
    """A number that was counted: of system calls, of variables."""


class Pair(Record, frozen=True, tag_field="kind", tag="pair"):
    """Two configurations of a bundled study against each other."""

    study: str
    a: dict[str, Level] = msgspec.field(default_factory=dict)
    """Knobs that are not as the study starts."""
    b: dict[str, Level] = msgspec.field(default_factory=dict)
    metric: str = "throughput_per_s"
    """One of `METRICS`; its ratio b over a stands beside the one of then."""
    beside: dict[str, Level] = msgspec.field(default_factory=dict)
    """What is otherwise than in b, for one more configuration that the document has no figure of:
    one start of it is loaded for some seconds, and what came of it is told. Empty: of none."""

    def __post_init__(self) -> None:
        """Refuse what is no metric.

        Raises:
            ValueError: With all that there are.
        """
        if self.metric not in METRICS:
            raise ValueError(
                f"no metric is called `{self.metric}`, expected one of {', '.join(METRICS)}"
            )


class Beside(Record, frozen=True):
    """Calls of another configuration of the same table; told beside the one that is judged."""

    of: tuple[str, ...]
    at: dict[str, Level]
    """What is otherwise than in the one that is judged."""
    then: float


class Count(Record, frozen=True, tag_field="kind", tag="count"):
    """A number of one fresh server: system calls of a response, or what a response begins with."""

    study: str
    of: tuple[str, ...] = ()
    """Kinds of calls, added up; empty: the number that the response begins with."""
    at: dict[str, Level] = msgspec.field(default_factory=dict)
    path: str = ""
    """What is asked for; empty: what the study asks for."""
    beside: tuple[Beside, ...] = ()


class Seen(Record, frozen=True):
    """Figures of a script that stand beside the one that is judged."""

    says: str
    of: tuple[str, ...]
    """One `COMMAND.FIGURE`, with a `*` for several, each named by what the star is; or two, of
    which each run has the ratio, first over second."""
    then: float | None = None
    """A ratio of then, by which that of today is judged too."""


class Script(Record, frozen=True, tag_field="kind", tag="script"):
    """Commands that run on each of several fresh servers, in an order drawn.

    What was counted then is counted in one run.
    """

    commands: dict[str, str]
    """As typed, by name. `{url}` is what the study asks for first, `{server}` its address without a
    path. Each prints figures (`book.figures`)."""
    figure: tuple[str, ...]
    """`COMMAND.FIGURE`, and what it is divided by, if anything."""
    says: str
    """What the figure is, without its value."""
    study: str = ""
    """Whose servers are loaded; empty: none is."""
    at: dict[str, Level] = msgspec.field(default_factory=dict)
    """Knobs that are not as the study starts."""
    seen: tuple[Seen, ...] = ()
    perl_modules: tuple[str, ...] = ()
    """That the commands need."""
    has_one_core: bool = False
    """Whether all that a command begins shares one core."""


Way = Pair | Count | Script


class Experiment(Record, frozen=True):
    """One table or measurement of the founding documents, and how it is run today."""

    name: str
    """As in the book's data."""
    chapter: str
    """The document, and where in it."""
    year: int
    title: str
    then: Then
    way: Way | None = None
    """None where it cannot be run."""
    reason: str = ""
    """Why it cannot be run, where it cannot."""
    same_as: str = ""
    """Another one with the same data: it stands for both."""
    because: str = ""
    """Why today's figure differs, or does not: one sentence."""
    explains: tuple[Word, ...] = HOLDING
    """Words that the sentence is a reason for. Beside another one it would be none."""
    footing: str = ""
    """What is counted today in place of what was counted then: so no word is said of it."""
    evidence: tuple[str, ...] = ()
    """Figures of looks that the sentence rests on: of a pair both sides', moved or not."""
    artefact: str = ""
    """What was seen instead of an effect then, where today's absence says so: one sentence. The
    other one stands behind it where it explains this word, too."""
    budget_s: float = 60.0
    """What measuring it may take at most; most are decided sooner."""


@functools.cache
def experiments() -> tuple[Experiment, ...]:
    """Return all of them, in the order of the documents."""
    text = files("httpdyno.book").joinpath("experiments.toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, tuple[Experiment, ...]])["experiment"]


def experiment(name: str) -> Experiment | None:
    """Return the one of that name; None where there is none."""
    return next((each for each in experiments() if each.name == name), None)


def way_of(one: Experiment) -> Experiment:
    """Return the one that stands for it: itself, but for what was printed twice."""
    other = experiment(one.same_as) if one.same_as else None
    return other or one


class Timed(Protocol):
    """What may take so long at most: an experiment, or the study of an advice."""

    @property
    def budget_s(self) -> float:
        """In seconds."""


def whole_s(asked: Iterable[Timed]) -> float:
    """Return what measuring all of these may take at most."""
    return sum(each.budget_s for each in asked)
