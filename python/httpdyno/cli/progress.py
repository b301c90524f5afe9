"""Show a run as it goes: a live line on a terminal, a plain line per step otherwise."""

import time
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from httpdyno.cli.live_display import LiveDisplay, one_line, whole_seconds
from httpdyno.experiment.event import (
    Event,
    FinalDone,
    Notice,
    PointDone,
    Stage,
    StartDone,
    StepDone,
)
from httpdyno.report.shared.phrase import plural
from httpdyno.report.study.sweep_text import point_line
from httpdyno.report.study.text import claim_text, standing_line, step_line


class RunProgress(LiveDisplay):
    """Takes a run's events; use it as a context manager around the run."""

    def __init__(
        self, console: Console, n_steps: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(console)
        self._n_steps = n_steps
        self._clock = clock
        self._n_done = 0
        self._n_points = 0
        self._status = Text("preparing")
        self._elapsed_s = 0.0
        self._left_s: float | None = None
        self._told_at_s = clock()

    def __call__(self, event: Event) -> None:
        """Show one event."""
        for line in self._permanent_lines(event):
            # Without a width of its own, a file gets each line whole.
            self._console.print(line, soft_wrap=self._live is None)
        self._follow(event)
        if self._live is not None:
            self._live.refresh()

    def _permanent_lines(self, event: Event) -> list[Text]:
        """Return what stays on the screen, or goes into a log."""
        match event:
            case Stage() if self._live is None:
                line = Text.assemble((event.name, "bold"), f"  {event.detail}" * bool(event.detail))
                return [line.append(f"  {_times(event.elapsed_s, event.left_s)}")]
            case StepDone():
                self._n_done += 1
                return [step_line(event.step, self._n_done, self._n_steps)]
            case PointDone() if self._live is None:
                return [Text(_round_text(event))]
            case FinalDone():
                return [_final_line(event)]
            case Notice():
                return [Text.assemble(("note: ", "yellow"), event.message)]
            case _:
                return []

    def _follow(self, event: Event) -> None:
        """Take over what the live line shows."""
        match event:
            case Stage():
                self._status = Text(f"{event.name}  {event.detail}".rstrip())
            case StartDone():
                self._status = standing_line(
                    event.stage, event.n_starts, event.interval, event.second
                )
            case PointDone():
                self._status = Text(_round_text(event))
            case _:
                return
        self._elapsed_s, self._left_s = event.elapsed_s, event.left_s
        self._told_at_s = self._clock()

    def shown(self) -> Text:
        """Return the live line as it is now."""
        since_s = self._clock() - self._told_at_s
        left_s = None if self._left_s is None else max(0.0, self._left_s - since_s)
        times = _times(self._elapsed_s + since_s, left_s)
        return one_line(self._status, times, self._console.width, now_s=self._clock())


def _times(elapsed_s: float, left_s: float | None) -> str:
    """Return `1 min 20 s, about 40 s left`; whole seconds, because it is a guess."""
    passed = whole_seconds(elapsed_s)
    return passed if left_s is None else f"{passed}, about {whole_seconds(left_s)} left"


def _round_text(event: PointDone) -> str:
    measured = [point for point in event.points if point.arm.throughput_per_s > 0]
    n_starts = max((point.arm.n_starts for point in measured), default=0)
    text = f"round {n_starts}  {plural(len(measured), 'level')}"
    if measured:
        best = max(measured, key=lambda point: point.arm.throughput_per_s)
        text += f", best so far {point_line(best)}"
    return text


def _final_line(event: FinalDone) -> Text:
    return Text.assemble(("final  ", "bold"), claim_text(event.comparison))
