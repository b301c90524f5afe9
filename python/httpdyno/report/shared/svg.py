"""Charts as SVG text: axes with round ticks, and marks on them; no script and no other file.

Colours are CSS variables of the page and text is in its font, so that one drawing serves light,
dark and print. A page holds each drawing twice, wide and narrow, because a scaled-down one can't be
read. What a mark stands for is its `title`: browsers show it where the pointer rests.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from httpdyno.model import HistogramData
from httpdyno.stats.histogram import MIN_TAIL_COUNT, count, quantile_s

INK, SOFT, FAINT, PAPER = "var(--ink)", "var(--soft)", "var(--line)", "var(--paper)"
BEFORE, AFTER, BOOK = "var(--before)", "var(--after)", "var(--book)"
BETTER, WORSE = "var(--better)", "var(--worse)"
VERDICT_COLOURS = {
    "better": BETTER,
    "worse": WORSE,
    "equivalent": "var(--equivalent)",
    "inconclusive": "var(--inconclusive)",
    "failed": WORSE,
    "not_measured": "var(--inconclusive)",
}
WIDE, NARROW = 840, 340
_RATIO_TICKS = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
    *(0.3, 0.7, 1.5, 3, 4, 7),
    *(0.6, 0.8, 0.9, 1.1, 1.2, 1.3),
    *(0.95, 1.05, 0.98, 1.02, 0.99, 1.01),
)
"""From coarse to fine; a chart takes those in its range until it has enough."""
_DIGIT = 0.54
"""Of the font's size, the width of a usual character."""
_SIZE = 12
_FEWEST_TICKS, _MOST_LOG_TICKS = 3, 10
_PEAK_ROOM = 1.04
"""Above the largest value of a linear axis, so that its mark is not cut."""


# Numbers on axes.


def number_text(value: float) -> str:
    """Return a number without needless zeros and never as a power of ten."""
    return f"{round(value, 10):,.10f}".rstrip("0").rstrip(".")


def nice_ticks(low: float, high: float, wanted: int) -> tuple[float, ...]:
    """Return multiples of 1, 2 or 5 times a power of ten within [low, high], about so many."""
    rough = (high - low) / max(1, wanted)
    decade = 10.0 ** math.floor(math.log10(rough))
    step = decade * min((1, 2, 5, 10), key=lambda each: abs(math.log(each * decade / rough)))
    first = math.ceil(low / step - 1e-9)
    return tuple(n * step for n in range(first, math.floor(high / step + 1e-9) + 1))


def log_ticks(low: float, high: float) -> tuple[float, ...]:
    """Return 1, 2 and 5 of each decade within [low, high]: of many only the first, of few more."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = [(step, step * 10.0**decade) for decade in decades for step in (1, 2, 5)]
    inside = [(step, tick) for step, tick in steps if low <= tick <= high]
    if len(inside) < _FEWEST_TICKS:
        return nice_ticks(low, high, 2 * _FEWEST_TICKS)
    is_crowded = len(inside) > _MOST_LOG_TICKS
    return tuple(tick for step, tick in inside if step == 1 or not is_crowded)


def ratio_ticks(low: float, high: float, *, wanted: int = 6) -> tuple[float, ...]:
    """Return round ratios within [low, high], evenly enough spread on a log scale, 1 included."""
    gap = math.log(high / low) / (wanted * 1.6)
    chosen: list[float] = [1.0]
    for tick in _RATIO_TICKS:
        apart = all(abs(math.log(tick / other)) >= gap for other in chosen)
        if low <= tick <= high and apart:
            chosen.append(tick)
    return tuple(sorted(chosen))


def padded(values: Iterable[float], *, share: float = 0.06) -> tuple[float, float]:
    """Return a log domain around the values, never narrower than ±2 %."""
    finite = [math.log(v) for v in values if v and v > 0 and math.isfinite(v)]
    low, high = min([*finite, -0.02]), max([*finite, 0.02])
    pad = (high - low) * share
    return math.exp(low - pad), math.exp(high + pad)


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """From values to places, and what is written beside it. It may run from high to low."""

    low: float
    high: float
    title: str = ""
    ticks: tuple[float, ...] = ()
    label: Callable[[float], str] = number_text
    is_log: bool = False
    has_grid: bool = True

    @classmethod
    def linear(cls, high: float, title: str, *, low: float = 0.0, wanted: int = 5) -> "Axis":
        """Return one with round ticks that ends a little above the highest value."""
        top = high * _PEAK_ROOM if high > low else low + 1.0
        return cls(low=low, high=top, title=title, ticks=nice_ticks(low, top, wanted))

    @classmethod
    def logarithmic(cls, low: float, high: float, title: str) -> "Axis":
        """Return one from low to high with ticks at 1, 2 and 5 of each decade."""
        return cls(low=low, high=high, title=title, ticks=log_ticks(low, high), is_log=True)

    @classmethod
    def ratios(cls, low: float, high: float, title: str = "", *, wanted: int = 6) -> "Axis":
        """Return one of ratios, 1 among its ticks."""
        ticks = ratio_ticks(low, high, wanted=wanted)
        return cls(low=low, high=high, title=title, ticks=ticks, is_log=True)

    @classmethod
    def places(cls, names: Sequence[str], title: str = "") -> "Axis":
        """Return one with a place for each name, counted from 0."""
        return cls(
            low=-0.5,
            high=len(names) - 0.5,
            title=title,
            ticks=tuple(map(float, range(len(names)))),
            label=lambda place: names[round(place)],
            has_grid=False,
        )

    @classmethod
    def rows(cls, n: int) -> "Axis":
        """Return one with a place for each row, from the top, and nothing beside it."""
        return cls(low=n - 0.5, high=-0.5)

    def share(self, value: float) -> float:
        """Return how far along it a value lies, from 0 to 1."""
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low)


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """What is around a plot, in pixels."""

    left: int
    right: int = 12
    top: int = 8
    bottom: int = 44


class Plot:
    """Marks over a pair of axes, in the order in which they are added."""

    def __init__(
        self, *, x: Axis, y: Axis, width: int, height: int, room: Room | None = None
    ) -> None:
        """Begin with the axes alone.

        Args:
            x: From left to right.
            y: From the bottom to the top. Its title stands above it.
            width: Of all, room and plot.
            height: Of the plot.
            room: What is around the plot; by the axes' labels if it is None.
        """
        longest = max((len(y.label(tick)) for tick in y.ticks), default=0)
        self.room = room or Room(
            left=round(longest * _SIZE * _DIGIT) + 12 if y.ticks else 8,
            top=28 if y.title else 8,
            bottom=46 if x.title else 24,
        )
        self.x, self.y, self.height = x, y, height
        self.width = width - self.room.left - self.room.right
        self._marks: list[str] = []

    @property
    def outer_height(self) -> int:
        """With what is around it, in pixels."""
        return self.room.top + self.height + self.room.bottom

    def left(self, value: float) -> float:
        """Return how far right of the plot's left edge a value lies, in pixels."""
        return self.x.share(value) * self.width

    def down(self, value: float) -> float:
        """Return how far below the plot's top a value lies, in pixels."""
        return (1 - self.y.share(value)) * self.height

    # Marks. Values are those of the axes; a colour is a CSS variable.

    def line(
        self,
        points: Sequence[tuple[float, float | None]],
        colour: str,
        *,
        width: float = 2.2,
        opacity: float = 1.0,
        dash: str = "",
    ) -> None:
        """Add a line, which breaks where a value is None."""
        path, is_open = [], False
        for x, y in points:
            if y is not None:
                path.append(f"{'L' if is_open else 'M'}{_px(self.left(x))} {_px(self.down(y))}")
            is_open = y is not None
        style = f'fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"'
        self._add("line", "path", f'd="{"".join(path)}" {style}{_more(opacity, dash)}')

    def area(self, points: Sequence[tuple[float, float, float]], colour: str) -> None:
        """Add the area between two values of each x: (x, low, high)."""
        upper = [f"{_px(self.left(x))} {_px(self.down(high))}" for x, _, high in points]
        lower = [f"{_px(self.left(x))} {_px(self.down(low))}" for x, low, _ in reversed(points)]
        if points:
            path = f'd="M{"L".join([*upper, *lower])}Z"'
            self._add("area", "path", f'{path} fill="{colour}" opacity="0.14"')

    def whisker(  # noqa: PLR0913 - how it looks
        self,
        at: float,
        low: float,
        high: float,
        colour: str,
        *,
        width: float = 3,
        opacity: float = 1.0,
        is_level: bool = True,
        title: str = "",
    ) -> None:
        """Add an interval: level at a y, or upright at an x."""
        ends = ((low, at), (high, at)) if is_level else ((at, low), (at, high))
        style = f'stroke="{colour}" stroke-width="{width}"{_more(opacity)}'
        self._add("whisker", "line", f"{self._ends(*ends)} {style}", title)

    def rule(
        self,
        *,
        x: float | None = None,
        y: float | None = None,
        colour: str = SOFT,
        dash: str = "3 3",
    ) -> None:
        """Add a line across the whole plot, upright at an x or level at a y."""
        if x is not None:
            place = f'x1="{_px(self.left(x))}" x2="{_px(self.left(x))}" y1="0" y2="{self.height}"'
        else:
            down = _px(self.down(y or 0.0))
            place = f'x1="0" x2="{self.width}" y1="{down}" y2="{down}"'
        self._add("rule", "line", f'{place} stroke="{colour}"{_more(dash=dash)}')

    def link(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """Add a faint dotted line from one place to another."""
        self._add("link", "line", f'{self._ends(begin, end)} stroke="{SOFT}"{_more(dash="1 3")}')

    def dot(  # noqa: PLR0913 - how it looks
        self,
        x: float,
        y: float,
        colour: str,
        *,
        radius: float = 4.6,
        opacity: float = 1.0,
        is_ring: bool = False,
        title: str = "",
    ) -> None:
        """Add a dot, or a ring."""
        place = f'cx="{_px(self.left(x))}" cy="{_px(self.down(y))}" r="{radius}"'
        fill = f'fill="{PAPER}" stroke="{colour}" stroke-width="1.8"' if is_ring else ""
        self._add("dot", "circle", f"{place} {fill or _fill(colour)}{_more(opacity)}", title)

    def diamond(self, x: float, y: float, *, title: str = "") -> None:
        """Add the open diamond of a published figure."""
        place = f"M{_px(self.left(x))} {_px(self.down(y) - 6)}l4.5 6l-4.5 6l-4.5-6Z"
        style = f'fill="none" stroke="{BOOK}" stroke-width="1.8"'
        self._add("diamond", "path", f'd="{place}" {style}', title)

    def cross(self, x: float, y: float, *, title: str = "") -> None:
        """Add the cross of what did not run."""
        place = f"M{_px(self.left(x) - 5)} {_px(self.down(y) - 5)}l10 10m0-10l-10 10"
        self._add("cross", "path", f'd="{place}" stroke="{WORSE}" stroke-width="3"', title)

    def bar(  # noqa: PLR0913 - a rectangle has four sides
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        colour: str,
        *,
        opacity: float = 1.0,
        gap: float = 0.0,
        title: str = "",
    ) -> None:
        """Add a rectangle between two values of each axis, so many pixels apart from the next."""
        left, right = (self.left(each) for each in x)
        down, up = (self.down(each) for each in y)
        place = f'x="{_px(left)}" y="{_px(up)}" height="{_px(max(0.0, down - up))}"'
        width = f'width="{_px(max(0.5, right - left - gap))}"'
        self._add("bar", "rect", f"{place} {width} {_fill(colour)}{_more(opacity)}", title)

    def text(  # noqa: PLR0913 - how it looks
        self,
        words: str,
        *,
        px: tuple[float, float],
        anchor: str = "start",
        colour: str = INK,
        size: float = _SIZE,
        is_bold: bool = False,
        has_halo: bool = False,
        room: float = math.inf,
    ) -> None:
        """Add words at a place in pixels from the plot's top left: their baseline.

        Args:
            words: One line. What has no room ends in `…`, and is whole in its title.
            px: Where.
            anchor: `start`, `middle` or `end` of the words is there.
            colour: Of the letters.
            size: In pixels.
            is_bold: Whether they are heavy.
            has_halo: Whether lines behind them are kept off.
            room: Pixels that they may take.
        """
        shown = _fitted(words, room / (size * _DIGIT))
        style = _fill(colour)
        if anchor != "start":
            style += f' text-anchor="{anchor}"'
        if size != _SIZE:
            style += f' font-size="{size}"'
        if is_bold:
            style += ' font-weight="600"'
        if has_halo:
            style += f' stroke="{PAPER}" stroke-width="4" paint-order="stroke"'
        place = f'x="{_px(px[0])}" y="{_px(px[1])}"'
        title = f"<title>{escape(words)}</title>" if shown != words else ""
        self._marks.append(f'<text class="words" {place} {style}>{title}{escape(shown)}</text>')

    def _ends(self, begin: tuple[float, float], end: tuple[float, float]) -> str:
        x1, x2 = (_px(self.left(x)) for x, _ in (begin, end))
        y1, y2 = (_px(self.down(y)) for _, y in (begin, end))
        return f'x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}"'

    def _add(self, kind: str, element: str, attributes: str, title: str = "") -> None:
        inner = f"><title>{escape(title)}</title></{element}>" if title else "/>"
        self._marks.append(f'<{element} class="{kind}" {attributes}{inner}')

    # What is around the marks.

    def body(self, begins: float = 0.0) -> str:
        """Return all of it as a group that begins so many pixels down."""
        place = f"translate({self.room.left} {_px(begins + self.room.top)})"
        frame = [*self._x_axis(), *self._y_axis()]
        return f'<g transform="{place}">{"".join([*frame, *self._marks])}</g>'

    def _x_axis(self) -> Iterable[str]:
        bottom = self.height
        if self.x.ticks:
            yield f'<path d="M0 {bottom}H{self.width}" stroke="{FAINT}"/>'
        taken: list[tuple[float, float]] = []
        ticks = self.x.ticks
        for tick in (*ticks[:1], *ticks[:0:-1][:1], *ticks[1:-1]):
            left, words = self.left(tick), self.x.label(tick)
            half = len(words) * _SIZE * _DIGIT / 2 + 3
            if self.x.has_grid:
                yield f'<path d="M{_px(left)} 0V{bottom}" stroke="{FAINT}"/>'
            elif self.x.title:
                yield f'<path d="M{_px(left)} {bottom}v4" stroke="{FAINT}"/>'
            # What has no room between the ends and others is left out.
            if all(left + half <= a or left - half >= b for a, b in taken):
                taken.append((left - half, left + half))
                yield _label(words, left, bottom + 18, "middle")
        if self.x.title:
            yield _label(self.x.title, self.width / 2, bottom + 38, "middle")

    def _y_axis(self) -> Iterable[str]:
        for tick in self.y.ticks:
            down = self.down(tick)
            if self.y.has_grid:
                yield f'<path d="M0 {_px(down)}H{self.width}" stroke="{FAINT}"/>'
            yield _label(self.y.label(tick), -8, down + 4, "end")
        if self.y.title:
            yield _label(self.y.title, -self.room.left, -14, "start")


def drawing(label: str, *plots: Plot) -> str:
    """Return plots below each other as one labelled image that scales down but never up."""
    bodies, begins = [], 0.0
    for plot in plots:
        bodies.append(plot.body(begins))
        begins += plot.outer_height
    width = max(plot.room.left + plot.width + plot.room.right for plot in plots)
    size = f'viewBox="0 0 {width} {_px(begins)}" font-size="{_SIZE}" style="max-width:{width}px"'
    name = f'role="img" aria-label="{escape(label)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {name}>{"".join(bodies)}</svg>'


def label_places(wanted: dict[str, float], height: float, *, gap: float = 15) -> dict[str, float]:
    """Return where names of lines stand, in pixels from the top: at their lines, but apart."""
    placed: dict[str, float] = {}
    below = -math.inf
    for name, down in sorted(wanted.items(), key=lambda item: item[1]):
        placed[name] = below = max(down, below + gap)
    # What was pushed out at the bottom goes up again, and pushes the others.
    above = height + 4.0
    for name in reversed(placed):
        placed[name] = above = min(placed[name], above)
        above -= gap
    return placed


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _fill(colour: str) -> str:
    return f'fill="{colour}"'


def _more(opacity: float = 1.0, dash: str = "") -> str:
    seen = f' opacity="{opacity}"' if opacity < 1 else ""
    return f'{seen} stroke-dasharray="{dash}"' if dash else seen


def _label(words: str, left: float, down: float, anchor: str) -> str:
    place = f'x="{_px(left)}" y="{_px(down)}" text-anchor="{anchor}" {_fill(SOFT)}'
    return f"<text {place}>{escape(words)}</text>"


def _fitted(words: str, n: float) -> str:
    return words if len(words) <= n else f"{words[: max(1, int(n) - 1)]}…"


# Latency by percentile as a curve: of a study's arms, of a load test, of servers in turns.

_CURVE_STEPS = 80
_PERCENTILES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)
_NAMES_ROOM = 14
_LOG_FROM = 8
"""Highest over lowest: a linear axis would hide the faster one."""


def percentiles_svg(
    curves: Sequence[tuple[str, HistogramData]],
    *,
    width: int = WIDE,
    colours: Sequence[str] = (BEFORE, AFTER),
) -> str:
    """Return percentile curves; each ends where its sample does. Empty where none has one.

    Args:
        curves: Name and distribution of each; the first is drawn thick, behind the others.
        width: In pixels.
        colours: One for each curve.
    """
    drawn = {name: points for name, data in curves if (points := percentile_points(data))}
    if not drawn:
        return ""
    furthest = max(points[-1][0] for points in drawn.values())
    values = [ms for points in drawn.values() for _, ms in points]
    ticks = tuple(1 / (1 - q) for q in _PERCENTILES if 1 / (1 - q) <= furthest * 1.5)
    x = Axis(
        low=1,
        high=max(ticks[-1], furthest, 100),
        title="percentile of requests",
        ticks=ticks,
        label=_percentile_name,
        is_log=True,
    )
    plot = Plot(
        x=x,
        y=_latency_axis(min(values), max(values)),
        width=width,
        height=260 if width >= WIDE else 200,
    )
    for number, (name, _) in enumerate(curves):
        if name in drawn:
            is_behind = number == 0 and len(curves) > 1
            width_, opacity = (3.5, 0.7) if is_behind else (2.2, 1.0)
            plot.line(drawn[name], colours[number], width=width_, opacity=opacity)
    _name_curves(plot, drawn, dict(zip((name for name, _ in curves), colours, strict=False)))
    return drawing(f"latency by percentile of {' and '.join(name for name, _ in curves)}", plot)


def _name_curves(
    plot: Plot, drawn: dict[str, list[tuple[float, float]]], colours: dict[str, str]
) -> None:
    """Write each curve's name at its end: that of the highest above it, of the others below."""
    ends = {name: points[-1] for name, points in drawn.items()}
    highest = max(ends, key=lambda name: ends[name][1])
    wanted = {
        name: plot.down(ms) + (-10 if name == highest else 18) for name, (_, ms) in ends.items()
    }
    for name, down in label_places(wanted, plot.height).items():
        place = (plot.left(ends[name][0]), down)
        plot.text(
            name, px=place, anchor="end", colour=colours[name], size=13, is_bold=True, has_halo=True
        )


def _latency_axis(low: float, high: float) -> Axis:
    if high / max(low, 1e-9) > _LOG_FROM:
        return Axis.logarithmic(low * 0.8, high * 1.5, "latency, ms (log scale)")
    return Axis.linear(high * 1.1, "latency, ms")


def _percentile_name(x: float) -> str:
    return "0" if x < 1.5 else f"p{number_text(round(100 - 100 / x, 6))}"  # noqa: PLR2004


def percentile_points(data: HistogramData) -> list[tuple[float, float]]:
    """Return a percentile curve up to where ten requests still lie beyond it.

    As (1 / (1 − q), milliseconds); empty where the sample is too small.
    """
    n = count(data)
    if n < 2 * MIN_TAIL_COUNT:
        return []
    furthest = math.log10(n / MIN_TAIL_COUNT)
    steps: Iterable[float] = (10 ** (furthest * i / _CURVE_STEPS) for i in range(_CURVE_STEPS + 1))
    return [(x, quantile_s(data, 1 - 1 / x) * 1e3) for x in steps]
