"""Show a run as it goes: two live lines on a terminal, plain lines now and then otherwise.

While windows are measured, the least possible is done: a window that ends is counted, and drawn
with the next redraw, of which there is one in a second.
"""

import time
from collections.abc import Callable

from rich.console import Console, Group
from rich.text import Text

from httpdyno.cli.live_display import LiveDisplay, one_line, whole_seconds
from httpdyno.experiment.method.session import (
    Event,
    FinalDone,
    Notice,
    PointDone,
    RoundDone,
    Stage,
    StartDone,
    StartsBegun,
    StepDone,
    WindowDone,
)
from httpdyno.model import LadderStep
from httpdyno.report.shared.message import text, texts
from httpdyno.report.shared.phrase import plural
from httpdyno.report.study.running import outlook_text, standing_text
from httpdyno.report.study.sweep import point_line
from httpdyno.report.study.text import claim_text, step_line

_LOOK_EVERY_S = 10.0
_LOOK_SHARE = 0.1
"""In a log looks come after so long, and after this share of the time of their comparison."""


class RunProgress(LiveDisplay):
    """Takes a run's events; use it as a context manager around the run."""

    redraws_per_s = 1.0
    """The load client may have the core that draws."""

    def __init__(
        self, console: Console, n_steps: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(console)
        self._n_steps = n_steps
        self._clock = clock
        self._numbers: dict[str, int] = {}
        self._status = Text("preparing")
        self._stage = ""
        self._look: StartDone | None = None
        self._round = ""
        self._batch = ""
        self._elapsed_s = 0.0
        self._left_s: float | None = None
        self._told_at_s = self._stage_at_s = self._line_at_s = clock()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        if isinstance(event, WindowDone):
            self._batch = f"window {event.n_done} of {event.n_windows}"
            return
        lines = self._permanent_lines(event)
        if lines:
            self._line_at_s = self._clock()
        for line in lines:
            # Without a width of its own, a file gets each line whole.
            self._console.print(line, soft_wrap=self._live is None)
        self._follow(event)
        if self._live is not None:
            self._live.refresh()

    def _permanent_lines(self, event: Event) -> list[Text]:
        """Return what stays on the screen, or goes into a log."""
        match event:
            case StepDone():
                number, is_of_ladder = self._number(event.step), event.is_of_ladder
                line = step_line(event.step, number, self._n_steps, is_of_ladder=is_of_ladder)
                return [line]
            case FinalDone():
                return [_final_line(event)]
            case Notice():
                return [Text.assemble(("note: ", "yellow"), text(event.reason))]
            case _:
                return [] if self._live is not None else self._log_lines(event)

    def _number(self, step: LadderStep) -> int:
        """Return a step's number; of one that goes on later, the one that it had."""
        return self._numbers.setdefault(step.label, len(self._numbers) + 1)

    def _log_lines(self, event: Event) -> list[Text]:
        """Return what a terminal has in its live lines."""
        match event:
            case Stage():
                [detail] = texts([event.detail])
                line = Text.assemble((event.name, "bold"), f"  {detail}" * bool(detail))
                return [line.append(f"  {_times(event.elapsed_s, event.left_s)}")]
            # The verdict of what is over comes at once.
            case StartDone() if event.allowed_s > 0 and self._is_look_due():
                return [Text(f"  {whole_seconds(event.elapsed_s)}  {_standing(event)}")]
            case PointDone() | RoundDone():
                return [Text(_round_text(event))]
            case _:
                return []

    def _is_look_due(self) -> bool:
        now_s = self._clock()
        every_s = max(_LOOK_EVERY_S, _LOOK_SHARE * (now_s - self._stage_at_s))
        return now_s - self._line_at_s >= every_s

    def _follow(self, event: Event) -> None:
        """Take over what the live lines show."""
        match event:
            case StartsBegun():
                self._batch = f"{event.n_starts} coming up"
                return
            case Stage():
                self._enter_stage(event.name, *texts([event.detail]))
            case StartDone():
                if event.stage != self._stage:
                    self._enter_stage(event.stage)
                self._look, self._batch = event, ""
            case PointDone() | RoundDone():
                self._round, self._batch = _round_text(event), ""
            case _:
                return
        self._elapsed_s, self._left_s = event.elapsed_s, event.left_s
        self._told_at_s = self._clock()

    def _enter_stage(self, name: str, detail: str = "") -> None:
        self._stage, self._stage_at_s = name, self._clock()
        self._status = Text(f"{name}  {detail}".rstrip())
        self._look, self._round, self._batch = None, "", ""

    def shown(self) -> Group:
        """Return the live lines as they are now."""
        since_s = self._clock() - self._told_at_s
        left_s = None if self._left_s is None else max(0.0, self._left_s - since_s)
        is_least = self._look is not None and self._look.n_starts < self._look.fewest
        times = _times(self._elapsed_s + since_s, left_s, is_least=is_least)
        first = one_line(self._status, times, self._console.width, now_s=self._clock())
        look = "" if self._look is None else _standing(self._look, since_s)
        parts = [part for part in (look, self._round, self._batch) if part]
        if not parts:
            return Group(first)
        second = Text(f"  {'  '.join(parts)}")
        second.truncate(self._console.width, overflow="ellipsis")
        return Group(first, second)


def _times(elapsed_s: float, left_s: float | None, *, is_least: bool = False) -> str:
    """Return `1 min 20 s, about 40 s left`; whole seconds, because it is a guess."""
    passed, about = whole_seconds(elapsed_s), "at least" if is_least else "about"
    return passed if left_s is None else f"{passed}, {about} {whole_seconds(left_s)} left"


def _standing(event: StartDone, since_s: float = 0.0) -> str:
    """Return where the comparison stands, and when it would be decided, some time after a look."""
    outlook = outlook_text(
        event.verdict,
        event.open_metric,
        decides_in_s=None if event.decides_in_s is None else event.decides_in_s - since_s,
        allowed_s=event.allowed_s - since_s,
        is_few=event.n_starts < event.fewest,
    )
    return f"{standing_text(event.n_starts, event.interval, event.second)}  {outlook}"


def _round_text(event: PointDone | RoundDone) -> str:
    if isinstance(event, RoundDone):
        return f"round {event.n_starts}  {event.n_arms} combinations"
    sweep = event.sweep
    measured = [point for point in sweep.points if point.arm.throughput_per_s > 0]
    n_starts = max((point.arm.n_starts for point in measured), default=0)
    text = f"round {n_starts}  {plural(len(measured), 'level')}"
    for best in measured:
        if best.level == sweep.best:
            text += f", best so far {point_line(best, sweep.metric)}"
    return text


def _final_line(event: FinalDone) -> Text:
    return Text.assemble(("final  ", "bold"), claim_text(event.comparison))
