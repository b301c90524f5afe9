"""Work a formula out with what was typed: the answer, each step, what the book says. Pure."""

from collections.abc import Mapping, Sequence
from typing import Literal

from httpdyno.advice.formula.expression import (
    DIMENSIONS,
    Kind,
    Quantity,
    evaluate,
    is_binary,
    read,
    with_numbers,
    with_signs,
    write,
)
from httpdyno.advice.formula.fit import FITS, SEARCHES, Fitted, Line
from httpdyno.errors import UsageError
from httpdyno.model import Record

# What a row of `formulas.toml` has, for command line, help, JSON and documentation.

Verdict = Literal["agrees", "loose", "wrong", "unsupported"]
"""Of what a document printed, worked out again."""

InputKind = Literal[Kind, "rates", "sizes"]
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
        return self.kind in {"rates", "sizes"}

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
    warnings: tuple[str, ...]
    says: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Lines of its fit or search, by what `fit.py` calls them."""
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


class Figure(Record, frozen=True):
    """An input or a step's outcome."""

    name: str
    meaning: str
    kind: str
    value: float
    """In base units."""
    text: str


class Recalculated(Record, frozen=True):
    """What a document printed, with these numbers."""

    printed: AsPrinted
    text: str | None
    """What its expression gives; None where it divides by zero, empty where it has none."""


class Worked(Record, frozen=True):
    """A formula with its numbers put in."""

    formula: str
    answer: str
    inputs: tuple[Figure, ...]
    figures: tuple[Figure, ...]
    """What was worked out, in order."""
    fitted: dict[str, float | None]
    """Of a fit or a search, more figures; null where the data bound nothing."""
    working: tuple[str, ...]
    book: tuple[Recalculated, ...]
    warnings: tuple[str, ...]


Given = Mapping[str, str | Sequence[str] | None]
"""Inputs as typed, by name; None or missing where nothing was."""


def work_out(formula: Formula, given: Given) -> Worked:
    """Work a formula out.

    Raises:
        UsageError: An input is missing, is none of its kind, or makes no sense with the others.
    """
    desk = _Desk(formula)
    fitted = Fitted(values={}, working=())
    for each in formula.inputs:
        if each.is_series:
            fitted = desk.fit(each, given.get(each.name) or ())
        else:
            text = given.get(each.name)
            desk.take(each, text if isinstance(text, str) else None)
    desk.check()
    if formula.name in SEARCHES:
        fitted = desk.search()
    for step in formula.steps:
        desk.step(step)
    return Worked(
        formula=formula.name,
        answer=desk.said(fitted.answer) if fitted.answer else formula.answer.format(**desk.written),
        inputs=tuple(desk.inputs),
        figures=tuple(desk.figures),
        fitted=fitted.figures,
        working=tuple(desk.working),
        book=tuple(desk.printed(each) for each in formula.printed),
        warnings=(*map(desk.said, fitted.warnings), *formula.warnings),
    )


class _Desk:
    """What is known so far, as quantities and as they are written."""

    def __init__(self, formula: Formula) -> None:
        self._formula = formula
        self._known: dict[str, Quantity] = {}
        self._is_binary = False
        self._in_working: dict[str, str] = {}
        self.written: dict[str, str] = {}
        self.inputs: list[Figure] = []
        self.figures: list[Figure] = []
        self.working: list[str] = []

    def take(self, each: Input, text: str | None) -> None:
        """Take an input as typed, or what stands for it where it was left out."""
        if text is None and each.otherwise:
            value = evaluate(each.otherwise, self._known).value
            self._know(each.name, value, each.kind)
            self.working.append(
                f"{each.name} (not given) = {with_signs(each.otherwise)} = "
                f"{self.written[each.name]}"
            )
        else:
            typed = text if text is not None else each.default
            if not typed:
                raise _missing(each, self._formula)
            self._is_binary |= text is not None and is_binary(text)
            self._know(each.name, _within(each, typed), each.kind)
        self.inputs.append(self._figure(each.name, each.meaning, each.kind))

    def fit(self, each: Input, typed: str | Sequence[str]) -> Fitted:
        """Take measured pairs, and what the fit makes of them."""
        words = [typed] if isinstance(typed, str) else list(typed)
        if not words:
            raise _missing(each, self._formula)
        pairs = [_pair(each, pair) for word in words for pair in word.split(",")]
        return self._keep(FITS[self._formula.name](pairs))

    def search(self) -> Fitted:
        """Take what a search makes of the inputs."""
        search = SEARCHES[self._formula.name]
        return self._keep(search({name: each.value for name, each in self._known.items()}))

    def check(self) -> None:
        """Refuse inputs that make no sense together."""
        for each in self._formula.requires:
            if evaluate(each.expression, self._known).value <= 0:
                blamed = next(one for one in self._formula.inputs if one.name == each.blames)
                raise UsageError(
                    f"`{blamed.option}` makes no sense: " + each.complaint.format(**self.written),
                    hint=f"`{self._formula.example}` is an example",
                )

    def step(self, step: Step) -> None:
        """Work a step out."""
        value = evaluate(step.expression, self._known).value
        with_names = with_signs(step.expression)
        put_in = with_numbers(step.expression, self._in_working)
        self._know(step.name, value, step.kind)
        self.figures.append(self._figure(step.name, step.meaning, step.kind))
        self.working.append(f"{step.name} = {with_names} = {put_in} = {self.written[step.name]}")

    def printed(self, each: AsPrinted) -> Recalculated:
        """Return what a document prints, and what it gives here."""
        text: str | None = ""
        if each.expression:
            try:
                text = self._text(evaluate(each.expression, self._known).value, each.kind)
            except ZeroDivisionError:
                text = None
        return Recalculated(printed=each, text=text)

    def _keep(self, fitted: Fitted) -> Fitted:
        for step in self._formula.fitted:
            self._know(step.name, fitted.values[step.name], step.kind)
            self.figures.append(self._figure(step.name, step.meaning, step.kind))
        self.working += map(self.said, fitted.working)
        return fitted

    def said(self, line: Line) -> str:
        """Return a line of a fit or a search, as the formula's row has it."""
        return self._formula.says[line.case].format_map(self.written | line.parts)

    def _know(self, name: str, value: float, kind: str) -> None:
        self._known[name] = Quantity(value=value, dimension=DIMENSIONS[kind])
        self.written[name] = self._text(value, kind)
        # A sign of multiplication that belongs to a number would be read as one more.
        self._in_working[name] = self.written[name].removesuffix(" ×")

    def _text(self, value: float, kind: str) -> str:
        return write(value, kind, binary=self._is_binary)

    def _figure(self, name: str, meaning: str, kind: str) -> Figure:
        value, text = self._known[name].value, self.written[name]
        return Figure(name=name, meaning=meaning, kind=kind, value=value, text=text)


def _amid_a_sentence(meaning: str) -> str:
    first = meaning.split(maxsplit=1)[0]
    is_name = any(letter.isupper() for letter in first[1:])  # such as RSS, CacheDirLevels
    return meaning if is_name else meaning[0].lower() + meaning[1:]


def _within(each: Input, text: str) -> float:
    value = _read(each, text, each.kind)
    low, high = each.minimum, each.maximum
    if value < low or (each.is_above and value == low) or (high is not None and value > high):
        raise UsageError(
            f"`{each.option} {text}` makes no sense; expected {domain(each)}",
            hint=f"It means: {_amid_a_sentence(each.meaning)}.",
        )
    return value


def domain(each: Input) -> str:
    """Return what an input may be, in words."""
    kind = each.kind if each.kind in DIMENSIONS else "number"
    low = write(each.minimum, kind) if each.minimum else "0"
    least = f"more than {low}" if each.is_above else f"{low} or more"
    if each.maximum is None:
        return least
    return f"{least}, at most {write(each.maximum, kind)}"


def _pair(each: Input, text: str) -> tuple[float, float]:
    kinds: dict[str, Kind] = {"rates": "rate", "sizes": "size"}
    count, sign, figure = text.partition("=")
    if not sign:
        raise UsageError(
            f"`{each.option} {text}` is not a pair; expected a count and a figure",
            hint=f"Such as `{each.option} {each.example.partition(',')[0]}`.",
        )
    return _read(each, count, "count"), _read(each, figure, kinds[each.kind])


def _read(each: Input, text: str, kind: str) -> float:
    try:
        return read(text, kind)
    except UsageError as error:
        raise UsageError(f"`{each.option}`: {error}", hint=error.hint) from error


def _missing(each: Input, formula: Formula) -> UsageError:
    return UsageError(
        f"`{each.option}` is missing: {_amid_a_sentence(each.meaning)}",
        hint=f"`{formula.example}` is an example",
    )
