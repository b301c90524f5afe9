"""What a row of `formulas.toml` has, for command line, help, JSON and documentation."""

from typing import Literal

from httpdyno.advice.formula.quantity import Kind
from httpdyno.model import Record

Verdict = Literal["agrees", "loose", "wrong", "unsupported"]
"""Of what a document printed, worked out again."""

InputKind = Literal[Kind, "rate by count", "size by count"]
"""The last two are measured pairs, such as `5=2.83/s`."""


class Input(Record, frozen=True):
    """What is put into a formula."""

    name: str
    """In expressions; with dashes for underscores, the option."""
    kind: InputKind
    meaning: str
    example: str = ""
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
    fitted: tuple[Step, ...] = ()
    """What the fit or the search of `fit.py` gives before the steps; their expressions say in words
    how it is found."""

    @property
    def example(self) -> str:
        """Return a command line that works."""
        given = [each for each in self.inputs if each.example]
        words = [f"{each.option} {each.example}" for each in given]
        return " ".join([f"httpdyno formula {self.name}", *words])
