"""What a formula is declared to be, once, for command line, help, JSON and documentation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from httpdyno.advice.formula.quantity import Kind
from httpdyno.model import Record

Verdict = Literal["agrees", "loose", "wrong", "unsupported"]
"""Of what a document printed, worked out again."""

InputKind = Literal[Kind, "rate by count", "size by count"]
"""The last two are measured pairs, such as `5=2.83/s`."""

HANDOUT = "mod_perl tutorial handout (2000)"
BOOK = "Practical mod_perl (2004) ch. 11"
ASP_ARTICLE = "Apache::ASP tuning article (1999)"
CACHE_MEMO = "memo on mod_cache (2006)"


class Input(Record, frozen=True):
    """What is put into a formula."""

    name: str
    """In expressions; with dashes for underscores, the option."""
    kind: InputKind
    meaning: str
    example: str
    """As typed, for the example of the help."""
    default: str = ""
    """As typed, where it may be left out."""
    otherwise: str = ""
    """An expression of the inputs before it, for where it is left out."""
    is_above: bool = True
    """Whether it must be more than the minimum; else it may be that too."""
    minimum: float = 0.0
    """In base units."""
    maximum: float | None = None

    @property
    def option(self) -> str:
        """Return how it is typed: `--max-rate`."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def is_series(self) -> bool:
        """Whether it is several measured pairs."""
        return self.kind in {"rate by count", "size by count"}

    @property
    def is_required(self) -> bool:
        """Whether there is nothing to take instead."""
        return not self.default and not self.otherwise


class Step(Record, frozen=True):
    """A line of the working: a name for what an expression comes to."""

    name: str
    expression: str
    kind: Kind
    meaning: str


class Requirement(Record, frozen=True):
    """What must be so for the formula to make sense."""

    expression: str
    """Must come to more than zero."""
    complaint: str
    """What is wrong where it does not, as a sentence over names in braces: `{child} is …`."""
    blames: str
    """The input that is named first."""


class AsPrinted(Record, frozen=True):
    """How a founding document has it."""

    source: str
    """With chapter and page."""
    text: str
    """The expression as printed there, in our names."""
    printed: str
    """The worked case as printed."""
    verdict: Verdict
    remark: str = ""
    """What was wrong with it, or what it leaves unsaid."""
    expression: str = ""
    """What can be worked out with the inputs at hand; empty where nothing can."""
    kind: Kind = "number"
    """Of the expression."""


class Fitted(Record, frozen=True):
    """What a fit to measured pairs, or a search, gives to the steps after it."""

    values: dict[str, float]
    """In base units."""
    working: tuple[str, ...]
    caveats: tuple[str, ...] = ()
    answer: str = ""
    """Instead of the formula's own."""
    figures: dict[str, float | None] = {}  # noqa: RUF012 - msgspec copies it
    """More figures for the JSON, such as ends of intervals; null where the data bound nothing."""


Fit = Callable[[Sequence[tuple[float, float]]], Fitted]
"""From pairs, in base units, in the order given."""

Search = Callable[[Mapping[str, float]], Fitted]
"""From inputs that make sense together, by name, in base units. It raises `UsageError` where none
is found."""


class Formula(Record, frozen=True):
    """A question that arithmetic answers."""

    name: str
    title: str
    question: str
    """What it answers, in a sentence."""
    inputs: tuple[Input, ...]
    expression: str
    """As people read it."""
    answer: str
    """A sentence over names of inputs and steps in braces."""
    caveats: tuple[str, ...]
    steps: tuple[Step, ...] = ()
    requires: tuple[Requirement, ...] = ()
    printed: tuple[AsPrinted, ...] = ()
    fit: Fit | None = None
    """Of the one input that is a series, before the steps."""
    search: Search | None = None
    """For what no expression gives, such as where a curve is highest; before the steps."""
    fitted: tuple[Step, ...] = ()
    """What the fit or the search gives; their expressions say how it is found, in words."""

    @property
    def example(self) -> str:
        """Return a command line that works."""
        given = [each for each in self.inputs if each.example]
        words = [f"{each.option} {each.example}" for each in given]
        return " ".join([f"httpdyno formula {self.name}", *words])
