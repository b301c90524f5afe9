"""What may be worth trying in gunicorn and uvicorn.

Source of what settings do: docs.gunicorn.org/en/stable/settings.html, www.uvicorn.org/settings.
"""

from collections.abc import Iterator

from httpdyno.advice.proposal import (
    LIKELY,
    POSSIBLE,
    WEAK,
    KnobProposal,
    Offered,
    above,
    is_waited_for,
    leaves_unread,
    number,
    overflowing,
    proposals,
    waiting_levels,
)
from httpdyno.reason import because

_FEW_REQUESTS = 200
_SEEN = 0.85
"""What load itself has shown comes before what is only likely."""
_ONE_AT_A_TIME = frozenset({"sync", "gthread"})
"""Classes whose workers take a request, or one for each thread. Of others nothing is known."""


def workers(offered: Offered) -> Iterator[KnobProposal]:
    """Propose more processes: one interpreter computes on one core, and sync workers wait too."""
    n_cpus = offered.shape.n_cpus
    yield from proposals(
        offered,
        "workers",
        lambda found: (number(found) or n_cpus) < n_cpus or _waits(offered, found),
        lambda found: above(found, (n_cpus, 2 * n_cpus + 1)),
        lambda found: because(
            "advice.few_processes", found=found, n_cpus=n_cpus, clients=offered.shape.connections
        ),
        prior=LIKELY,
    )


def idle(offered: Offered) -> Iterator[KnobProposal]:
    """Propose more of both where connections waited for a worker while CPUs were idle."""
    shape = offered.shape
    n_workers = number(offered.found("workers")) or 1
    if shape.burst is None or not is_waited_for(offered, n_workers):
        return
    busy, n_cpus = shape.burst.cpus_busy, shape.n_cpus
    levels = waiting_levels(offered)
    is_one_at_a_time = offered.found("worker_class") in _ONE_AT_A_TIME
    if is_one_at_a_time or leaves_unread(offered):
        yield from proposals(
            offered,
            "workers",
            lambda found: (number(found) or max(levels)) < max(levels),
            lambda found: above(found, levels),
            lambda found: because("advice.all_taken", found=found, busy=busy, n_cpus=n_cpus),
            prior=_SEEN,
            is_seen=True,
        )
    if is_one_at_a_time:
        yield from proposals(
            offered,
            "threads",
            lambda found: (number(found) or shape.connections) < shape.connections,
            lambda found: above(found, (4 * int(number(found) or 1),)),
            lambda found: because("advice.few_threads", found=found, busy=busy, n_cpus=n_cpus),
            prior=LIKELY,
        )


def queues(offered: Offered) -> Iterator[KnobProposal]:
    """Propose a longer queue where connections found it full."""
    yield from overflowing(offered, "backlog")


def threads(offered: Offered) -> Iterator[KnobProposal]:
    """Propose threads: while one request waits, others go on."""
    yield from proposals(
        offered,
        "threads",
        lambda found: found == 1 and offered.found("worker_class") in _ONE_AT_A_TIME,
        lambda _: (4,),
        because("advice.one_at_a_time"),
        prior=POSSIBLE,
    )


def lives(offered: Offered) -> Iterator[KnobProposal]:
    """Propose longer lives of processes: each imports the application anew."""
    for name in ("max_requests", "limit_max_requests"):
        yield from proposals(
            offered,
            name,
            lambda found: 0 < (number(found) or 0) < _FEW_REQUESTS,
            lambda _: (10_000,),
            lambda found: because("advice.few_requests_of_life", found=found),
            prior=LIKELY,
            expects="cpu",
        )


def loops(offered: Offered) -> Iterator[KnobProposal]:
    """Propose the loop and the parser that are written in C, where they can be had."""
    for name, fast in (("loop", "uvloop"), ("http", "httptools")):
        choices = offered.knobs[name].choices if name in offered.knobs else ()
        if fast in choices:
            yield from proposals(
                offered,
                name,
                lambda found: found in {"asyncio", "h11"},
                lambda _, level=fast: (level,),  # type: ignore[misc]
                lambda found: because("advice.in_python", found=found),
                expects="cpu",
            )


def logs(offered: Offered) -> Iterator[KnobProposal]:
    """Propose to write no line for each request; whoever reads them has to agree."""
    yield from proposals(
        offered,
        "access_log",
        lambda found: found is True,
        lambda _: (False,),
        because("advice.log_in_python"),
        expects="cpu",
    )


def weak(offered: Offered) -> Iterator[KnobProposal]:
    """List what rarely matters, so that it is known that it was thought of."""
    yield from proposals(
        offered,
        "preload_app",
        lambda found: found is False,
        lambda _: (True,),
        because("advice.saves_memory"),
        prior=WEAK,
        expects="memory",
    )


def _waits(offered: Offered, found: object) -> bool:
    """Whether more requests come at a time than its processes and threads can take."""
    if offered.found("worker_class") not in _ONE_AT_A_TIME:
        return False
    n_threads = number(offered.found("threads")) or 1
    n_workers = found if isinstance(found, int) else 1
    return n_workers * n_threads < min(offered.shape.connections, 2 * offered.shape.n_cpus + 1)


RULES = (workers, idle, threads, lives, loops, logs, queues, weak)
"""All rules of these kinds."""
