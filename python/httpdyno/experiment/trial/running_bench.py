"""Servers that run already, loaded block by block; none is started, changed or ended here.

They have had one start, which was nobody's here. So a bench of them measures one, over connections
that stand the whole time, of as many blocks as its time holds.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from httpdyno.errors import TargetError, UsageError
from httpdyno.experiment.trial.bench import StartRequest
from httpdyno.experiment.trial.budget import time_to_type
from httpdyno.experiment.trial.cycles import WindowChoice
from httpdyno.experiment.trial.engine_loads import Place
from httpdyno.experiment.trial.load import StartLoad
from httpdyno.model import (
    Configuration,
    HostFacts,
    Measurement,
    StartRecord,
    TrialStatus,
    TurnsPlan,
    WindowRecord,
)
from httpdyno.telemetry.account import account_found
from httpdyno.telemetry.collector import Collector, server_collectors
from httpdyno.telemetry.host import host_facts
from httpdyno.units import format_duration


class RunningBench:
    """Loads servers that run, whose arms are those of a plan."""

    def __init__(
        self,
        plan: TurnsPlan,
        *,
        fewest_blocks: int,
        asked_to_end: Callable[[], bool] = lambda: False,
    ) -> None:
        """Measure these servers.

        Args:
            plan: Which they are, and what they are asked.
            fewest_blocks: A time that holds fewer is refused.
            asked_to_end: Whether somebody wants it to end now; windows that ended by then count.
        """
        self._plan = plan
        self._fewest = fewest_blocks
        self._asked_to_end = asked_to_end

    def host(self) -> HostFacts:
        """Return this machine's facts."""
        return host_facts()

    def configuration_diff(self, start: Configuration, final: Configuration) -> str:
        """Return nothing: nobody knows their configurations."""
        del start, final
        return ""

    def n_side_by_side(self, arms: Sequence[Configuration]) -> int:
        """Return 1: there is one start of them."""
        del arms
        return 1

    def looks_s(
        self, comparisons: Sequence[Sequence[Configuration]], *, is_alone: bool = False
    ) -> float:
        """Return 0: whoever looks at them does so apart, when all is measured."""
        del comparisons, is_alone
        return 0.0

    def measure_starts(
        self, requests: Sequence[StartRequest], save: Callable[[WindowRecord], None]
    ) -> list[StartRecord]:
        """Load the servers block by block.

        Raises:
            TargetError: A server gives no right answer at all.
            UsageError: The time does not hold the fewest blocks.
            EngineError: The engine failed.
        """
        return [self._measured(request, save) for request in requests]

    def _measured(self, request: StartRequest, save: Callable[[WindowRecord], None]) -> StartRecord:
        began_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        began_s = time.monotonic()
        instances = self._plan.instances
        load = StartLoad(
            workloads=[self._plan.workload for _ in instances],
            requests=[request],
            addresses={Place(0, arm): each.address for arm, each in enumerate(instances)},
            seed=self._plan.seed,
            collectors={Place(0, arm): self._collectors(arm) for arm in range(len(instances))},
            is_disturbed=self._asked_to_end,
            fit=lambda choice: self._fitted(request, choice, time.monotonic() - began_s),
            asked_to_end=self._asked_to_end,
            outlives_silence=True,
            sees_entrances=False,
        )
        windows = load.run(save)
        if load.silence is not None:
            raise TargetError(
                f"`{instances[load.silence.place.arm].url}` gave no right answer to "
                f"{_what_came(load.silence.measurement)}",
                hint="see it alone with `httpdyno load`; `--expect-status` says what is right",
            )
        complete: TrialStatus = "complete"
        return StartRecord(
            comparison=request.comparison,
            start=request.start,
            began_at=began_at,
            duration_s=time.monotonic() - began_s,
            statuses=(complete,) * len(instances),
            configurations=request.arms,
            windows=tuple(windows),
        )

    def _collectors(self, arm: int) -> tuple[Collector, ...]:
        # Where two URLs lead to one process its time cannot be told apart.
        pids = [each.root_pid for each in self._plan.instances]
        is_known = pids[arm] and pids.count(pids[arm]) == 1
        return server_collectors(account_found([pids[arm]] if is_known else []))

    def _fitted(self, request: StartRequest, choice: WindowChoice, passed_s: float) -> WindowChoice:
        """Return windows of as many blocks as the time holds."""
        n, limit_s = len(request.arms), request.limit_s
        block_s = n * choice.window_s
        n_blocks = min(len(request.order), int((limit_s - passed_s) / block_s))
        if n_blocks < self._fewest:
            raise UsageError(
                f"{format_duration(limit_s)} hold {max(0, n_blocks)} periods of {n} turns, and "
                f"nothing is claimed of fewer than {self._fewest}",
                hint="these servers take about "
                f"`-d {time_to_type(2 * passed_s + self._fewest * block_s)}`",
            )
        return replace(choice, n_blocks=n_blocks)


def _what_came(measurement: Measurement) -> str:
    kinds = {name.replace("_", " "): n for name, n in measurement.errors.items() if n}
    kinds |= {f"status {name}": n for name, n in measurement.statuses.items() if n}
    came = ", ".join(f"{name} {n:,} times" for name, n in kinds.items()) or "nothing came"
    return f"{measurement.offered:,} requests: {came}"
