"""What an experiment of the founding documents is declared to be."""

from typing import Literal

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
    """System calls of an answer, in a configuration of a bundled study."""

    study: str
    of: tuple[str, ...]
    """Kinds of calls, added up."""
    at: dict[str, Level] = msgspec.field(default_factory=dict)
    path: str = ""
    """What is asked for; empty: what the study asks for."""
    beside: tuple[Beside, ...] = ()


class Said(Record, frozen=True, tag_field="kind", tag="said"):
    """A number that a bundled study's server answers with: the first word of the answer."""

    study: str
    path: str
    at: dict[str, Level] = msgspec.field(default_factory=dict)


class Recipe(Record, frozen=True, tag_field="kind", tag="recipe"):
    """A load test of a bundled study's server, as the document ran it, on several fresh ones."""

    study: str
    words: tuple[str, ...]
    """Arguments of `httpdyno load` behind the URLs."""
    figure: Literal["refused", "answered", "little"]
    """`refused`: the part of requests that came to nothing; `answered`: the part of those that were
    due that was answered; `little`: mean latency × rate over the connections."""
    paths: tuple[str, ...] = ()
    """What is asked for in turn; empty: what the study asks for first."""
    at: dict[str, Level] = msgspec.field(default_factory=dict)
    """Knobs that are not as the study starts."""


class Raised(Record, frozen=True, tag_field="kind", tag="raised"):
    """Load tests of several fresh servers, each with more and more clients, in an order drawn."""

    study: str
    words: tuple[str, ...]
    """Arguments of `httpdyno load` behind the URL; `-c` comes to them."""
    clients: tuple[int, ...]
    """How many, one test each."""
    of: tuple[int, int]
    """Those whose throughputs' ratio, second over first, stands beside that of then."""
    at: dict[str, Level] = msgspec.field(default_factory=dict)
    """Knobs that are not as the study starts."""


class Clients(Record, frozen=True, tag_field="kind", tag="clients"):
    """Two programs that ask the same server as often as they can: ab over a client of LWP.

    Each has one core, as a program of one thread has, and says its own requests per second.
    """

    study: str
    n_agents: int
    """Requests under way at the same time."""
    n_requests: int
    """Of each program, on each of several fresh servers."""
    at: dict[str, Level] = msgspec.field(default_factory=dict)
    """Knobs that are not as the study starts."""


class Loops(Record, frozen=True):
    """More busy loops of the same table; told beside the number that is judged."""

    n_beside: int
    then: float
    """Wall time over that of a call alone."""


class Stat(Record, frozen=True, tag_field="kind", tag="stat"):
    """A call of stat() on one core, alone and beside as many busy loops: wall time b over a."""

    n_beside: int = 1
    """Of the ratio that is judged."""
    further: tuple[Loops, ...] = ()


class Arithmetic(Record, frozen=True, tag_field="kind", tag="arithmetic"):
    """Nothing to measure: a formula that is worked out again."""

    formula: str
    """Of `httpdyno formula`."""
    given: dict[str, str]
    """Its inputs, as typed."""
    figure: str
    """The name of what stands beside what was said then."""


Way = Pair | Count | Said | Recipe | Raised | Clients | Stat | Arithmetic


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
