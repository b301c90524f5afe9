"""One start of a study's server as it is to begin with, each of its requests asked once.

It claims nothing: it says whether the study can run, and what that will cost.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.experiment.answer.ask import MOST_OF_LOG, Question, Visitor, asked_requests
from httpdyno.experiment.bench import StartRequest, block_order
from httpdyno.experiment.bench_choice import bench_of
from httpdyno.experiment.look_cost import header_turns_s
from httpdyno.experiment.looks_to_take import LooksToTake
from httpdyno.experiment.planning import comparisons_ahead
from httpdyno.experiment.short_budget import N_CALIBRATION_STARTS, n_at_once
from httpdyno.experiment.start_arm import READY_TIMEOUT_S
from httpdyno.metrics import sources
from httpdyno.model import Configuration, Effective, Plan, RequestSpec, StartRecord, Study
from httpdyno.servers.adapter import NotRunning, Running
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.run_data import RunData
from httpdyno.servers.stack.stack import Stack


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What came of one request."""

    request: str
    """`GET /list`."""
    expected: str
    """The right answer: `200`, `any 2xx or 3xx`, with its length where that is known."""
    status: int
    """0 where there was no answer."""
    words: str
    """Why there was none; empty where there was one."""
    duration_s: float
    n_bytes: int
    is_right: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class OneStart:
    """What one start showed."""

    version: str
    ready_s: float
    """From the start on, with what prepares it."""
    effective: Effective
    answers: tuple[Answered, ...]
    n_left_out: int = 0
    """Requests of a replayed log that were not asked."""
    tried: tuple[str, ...] = ()
    """What a private copy tried to reach outside, and was refused."""
    prepare_s: float = 0.0
    """What of `ready_s` went into a site's `prepare`; of other servers it is not told apart."""


def one_start(adapter: Stack, study: Study) -> OneStart:
    """Start the server once, ask each request once, end it.

    Raises:
        AdapterError: It cannot run here, or did not come up; with its own words.
    """
    version = adapter.version(study.server, Path(study.folder))
    load = study.load_of(study.start_configuration())
    requests = asked_requests(load)
    with one_server(adapter, study, study.start_configuration()) as up:
        running = up.running
        visitor = Visitor(running=running, workload=load)
        answers = tuple(_answered(visitor, each) for each in requests[:MOST_OF_LOG])
        return OneStart(
            version=version,
            ready_s=up.ready_s,
            effective=up.effective,
            answers=answers,
            tried=running.tried(),
            prepare_s=running.prepare_s,
            n_left_out=max(0, len(requests) - MOST_OF_LOG),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Up:
    """A server that is up, alone."""

    running: Running
    effective: Effective
    ready_s: float


@contextmanager
def one_server(adapter: Stack, study: Study, configuration: Configuration) -> Iterator[Up]:
    """Start a study's server in a configuration, and end it with the block.

    Raises:
        AdapterError: It cannot run here, or did not come up; with its own words. Its network was
            gone before the block ended.
    """
    folder, of_server = Path(study.folder), study.of_server(configuration)
    with new_run_root() as root, RunData(study.server, root, adapter=adapter) as data:
        data.make()
        began_s = time.monotonic()
        running = adapter.spawn(study.server, folder, of_server, root.new_place("check"))
        if isinstance(running, NotRunning):
            raise _not_up(running)
        try:
            effective = running.await_ready(READY_TIMEOUT_S)
            if isinstance(effective, NotRunning):
                raise _not_up(effective)
            ready_s = time.monotonic() - began_s
            yield Up(running=running, effective=effective, ready_s=ready_s)
            if words := running.network_trouble():
                raise AdapterError(f"what was seen of the server is none of its doing: {words}")
        finally:
            running.stop()


def start_of_two(adapter: Stack, study: Study, *, seed: int) -> StartRecord:
    """Return one start of the server against itself, with all of its windows: what it costs."""
    start = study.start_configuration()
    return start_of_arms(adapter, study, (start, start), seed=seed)


def start_of_arms(
    adapter: Stack, study: Study, arms: tuple[Configuration, ...], *, seed: int
) -> StartRecord:
    """Return one start of these configurations side by side, with all of its windows."""
    method = study.method
    request = StartRequest(
        comparison=0,
        start=0,
        arms=arms,
        order=block_order(len(arms), method.blocks_per_start, seed=seed, comparison=0, start=0),
        window_s=method.window_s,
        lead_in_s=method.lead_in_s,
        warm_up_s=method.warm_up_s,
        warm_up_requests=method.warm_up_requests,
    )
    with bench_of(adapter, study, seed=seed) as bench:
        [record] = bench.measure_starts([request], lambda _window: None)
    return record


def whole_s(plan: Plan, record: StartRecord, *, can_count: bool) -> tuple[float, float]:
    """Return what the fewest starts of a whole plan take: all side by side, and one by one.

    Where the fewest do not decide, it takes more. What is looked at besides is in both.

    Args:
        plan: Of a ladder, a table, a sweep or a factorial.
        record: A start of two, alone.
        can_count: Whether system calls can be counted here.
    """
    can_count = can_count and "system calls" not in sources(
        plan.study.objective.named
    )  # each start does
    ahead = comparisons_ahead(plan)
    looks_s = LooksToTake(can_count=can_count).expected_s(ahead)
    looks_s += header_turns_s(plan.study, ahead)
    method, n_steps, start_s = plan.study.method, len(plan.steps), record.measuring_s
    if method.is_all_at_once:
        # All are up in each start; the final claim has two.
        one_by_one_s = method.min_starts * (n_at_once(plan) / 2 + 1) * start_s + looks_s
        return one_by_one_s, one_by_one_s
    load_s = sum(window.measurement.total_s for window in record.windows) + record.one_by_one_s
    coming_up_s = max(0.0, start_s - load_s)

    def together_s(n_starts: int) -> float:
        """The first start of a comparison is alone, the others come up in batches."""
        later = n_starts - 1
        return start_s + later * load_s + math.ceil(later / method.side_by_side) * coming_up_s

    if plan.reference is not None:
        # Each has starts of its own, and nothing comes before or after.
        least_s = n_steps * together_s(method.min_starts)
        return least_s + looks_s, method.min_starts * n_steps * start_s + looks_s
    n_comparisons = n_steps + 1
    least_s = together_s(N_CALIBRATION_STARTS) + n_comparisons * together_s(method.min_starts)
    most_s = (N_CALIBRATION_STARTS + method.min_starts * n_comparisons) * start_s
    looks_s += record.looked_s  # of the calibration, whose configuration is looked at later
    return least_s + looks_s, most_s + looks_s


def _not_up(failed: NotRunning) -> AdapterError:
    return AdapterError(
        f"the server did not come up, it {_STATUS[failed.status]}: {failed.detail}".rstrip(": "),
        hint="these are its own words; correct the study or its files, and check again"
        if failed.status != "unstable"
        else "",
    )


_STATUS = {
    "refused": "refused its configuration",
    "crashed": "crashed",
    "hung": "did not answer in time",
    "unstable": "was disturbed",
    "unlike": "answers otherwise",
    "infeasible": "cannot run so",
    "complete": "ended",
}


def _answered(visitor: Visitor, request: RequestSpec) -> Answered:
    """Return what came of one request; takes in the cookies that it brought."""
    answer = visitor.ask(Question(request=request), limit_s=visitor.workload.timeout_s)
    return Answered(
        request=f"{request.method} {request.path}",
        expected=_expected(request),
        status=answer.status,
        words=answer.words,
        duration_s=answer.duration_s,
        n_bytes=len(answer.body),
        is_right=answer.is_right,
    )


def _expected(request: RequestSpec) -> str:
    status = "any 2xx or 3xx" if request.expect_status is None else str(request.expect_status)
    if request.expect_length is None:
        return status
    return f"{status} with {request.expect_length:,} bytes"
