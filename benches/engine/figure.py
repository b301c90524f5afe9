"""What a figure is: parts with a value, a target and a word, and everything they came from."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from benches.engine.interval import Estimate
from benches.engine.setting import Setting


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One number of a figure."""

    name: str
    estimate: Estimate | None
    """None: it could not be measured; `note` says why."""
    unit: str = ""
    """Behind the number, such as ` µs` or ` × wrk`."""
    at_most: float | None = None
    at_least: float | None = None
    """With neither, the number is for information only; both are a range."""
    by_bound: bool = False
    """The target is met by the interval's bound rather than by the value."""
    by_proof: bool = False
    """The target is missed only where the whole interval lies beyond it."""
    digits: int = 3
    """Significant ones."""
    note: str = ""

    @property
    def word(self) -> str:
        """What the target says of the value: met, missed, not measured, or nothing."""
        if not self.has_target:
            return ""
        if self.estimate is None:
            return "not measured"
        low, high = 2 * (self.estimate.value,)
        if self.by_bound:
            low, high = self.estimate.low, self.estimate.high
        if self.by_proof:
            low, high = self.estimate.high, self.estimate.low
        is_low_enough = self.at_most is None or high <= self.at_most
        is_high_enough = self.at_least is None or low >= self.at_least
        return "met" if is_low_enough and is_high_enough else "missed"

    @property
    def has_target(self) -> bool:
        """Whether it is judged."""
        return self.at_most is not None or self.at_least is not None

    def line(self) -> str:
        """Return name, value with interval, target and word in columns."""
        words = [f"{self.name:<50}", f"{self._value():<34}", f"{self._target():<12}", self.word]
        line = "  ".join(words).rstrip()
        return f"{line}  ({self.note})" if self.note else line

    def _value(self) -> str:
        if self.estimate is None:
            return "–"
        value, low, high = (
            rounded(each, self.digits)
            for each in (self.estimate.value, self.estimate.low, self.estimate.high)
        )
        is_exact = self.estimate.low == self.estimate.high
        return f"{value}{self.unit}" if is_exact else f"{value}{self.unit} ({low} … {high})"

    def _target(self) -> str:
        low, high = (
            "" if each is None else f"{each:,.10g}" for each in (self.at_least, self.at_most)
        )
        if low and high:
            return f"{low} … {high}{self.unit}"
        return f"≤ {high}{self.unit}" if high else f"≥ {low}{self.unit}" if low else ""


@dataclass(kw_only=True, slots=True)
class Figure:
    """A figure as it was measured."""

    number: int
    name: str
    command: str = ""
    """What measures the least of it by hand."""
    parts: list[Part] = field(default_factory=list)
    raw: dict[str, Any] = field(default_factory=dict)
    """Every run that the parts came from."""
    notes: list[str] = field(default_factory=list)
    failure: str = ""
    """Why it could not be measured."""

    @property
    def is_measured(self) -> bool:
        """Whether every part that is judged has a value."""
        return not self.failure and all(part.word != "not measured" for part in self.parts)

    @property
    def is_met(self) -> bool:
        """Whether every part that has a target reaches it."""
        return self.is_measured and all(part.word in {"met", ""} for part in self.parts)

    def lines(self) -> list[str]:
        """Return the figure as it is printed."""
        head = f"{self.number:>2} {self.name}"
        if self.failure:
            return [f"{head}: not measured: {self.failure}"]
        lines = [f"{self.number:>2} {part.line()}" for part in self.parts]
        return [head, *lines, *(f"   {note}" for note in self.notes), f"   $ {self.command}"]

    def record(self) -> dict[str, Any]:
        """Return it in built-in types."""
        parts = [asdict(part) | {"word": part.word} for part in self.parts]
        return {
            "number": self.number,
            "name": self.name,
            "is_measured": self.is_measured,
            "is_met": self.is_met,
            "failure": self.failure,
            "command": self.command,
            "notes": self.notes,
            "parts": parts,
            "raw": self.raw,
        }


Measure = Callable[[Setting], Figure]


def exactly(value: float) -> Estimate:
    """Return a count, or anything else that has no interval."""
    return Estimate(value=value, low=value, high=value)


def rounded(value: float, digits: int) -> str:
    """Return a number with so many significant digits, and no exponent."""
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e" in text else text
