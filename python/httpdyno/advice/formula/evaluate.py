"""Work a formula out with what was typed: the answer, each step, what the book says. Pure."""

from collections.abc import Mapping, Sequence

from httpdyno.advice.formula.declaration import AsPrinted, Formula, Input, Step
from httpdyno.advice.formula.expression import evaluate, with_numbers, with_signs
from httpdyno.advice.formula.fit import FITS, SEARCHES, Fitted
from httpdyno.advice.formula.quantity import DIMENSIONS, Kind, Quantity, is_binary, read, write
from httpdyno.errors import UsageError
from httpdyno.model import Record


class Figure(Record, frozen=True):
    """An input or a step's outcome."""

    name: str
    meaning: str
    kind: str
    value: float
    """In base units."""
    text: str


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
    book: tuple[str, ...]
    caveats: tuple[str, ...]


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
        answer=(fitted.answer or formula.answer).format(**desk.written),
        inputs=tuple(desk.inputs),
        figures=tuple(desk.figures),
        fitted=fitted.figures,
        working=tuple(desk.working),
        book=tuple(desk.printed(each) for each in formula.printed),
        caveats=(*fitted.caveats, *formula.caveats),
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
                f"{each.name} is not given: {with_signs(each.otherwise)} = "
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

    def printed(self, each: AsPrinted) -> str:
        """Return what a document prints, whether that agrees, and what it gives here."""
        line = f"{each.source}: {each.text}; {each.printed}: {each.verdict}"
        if each.remark:
            line += f". {each.remark}"
        if each.expression:
            try:
                value = evaluate(each.expression, self._known).value
            except ZeroDivisionError:
                return f"{line.rstrip('.')}. With these numbers it divides by zero"
            line = f"{line.rstrip('.')}. With these numbers it gives {self._text(value, each.kind)}"
        return line

    def _keep(self, fitted: Fitted) -> Fitted:
        for step in self._formula.fitted:
            self._know(step.name, fitted.values[step.name], step.kind)
            self.figures.append(self._figure(step.name, step.meaning, step.kind))
        self.working += fitted.working
        return fitted

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
    return f"{least} and at most {write(each.maximum, kind)}"


def _pair(each: Input, text: str) -> tuple[float, float]:
    kinds: dict[str, Kind] = {"rate by count": "rate", "size by count": "size"}
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
