"""What may be worth trying in programs of which only the command line is known, and in node's.

Source of what UV_THREADPOOL_SIZE does: nodejs.org/api/cli.html#uv_threadpool_sizesize.
"""

from collections.abc import Iterator

from httpdyno.advice.proposal import (
    LIKELY,
    POSSIBLE,
    KnobProposal,
    Offered,
    above,
    is_waited_for,
    number,
    proposals,
    waiting_levels,
)
from httpdyno.reason import because

_WORKERS = ("workers", "worker-processes", "processes", "num-workers", "instances", "cluster")
_THREADS = ("threads", "num-threads", "worker-threads", "thread-pool-size")
"""What people call their programs' own options for these."""
_FEW_THREADS = 4
_MORE_THREADS = 16
_GO_USUAL = 100
_NOT_PRODUCTION = frozenset({"", "dev", "development", "test"})


def workers(offered: Offered) -> Iterator[KnobProposal]:
    """Propose a process for each core where the program is told fewer, and more where they wait."""
    n_cpus, connections = offered.shape.n_cpus, offered.shape.connections
    for name in (*_WORKERS, "WEB_CONCURRENCY"):
        # 0 often means as many as there are cores; a variable that is set somebody heeds.
        n_workers = number(offered.found(name)) or 0
        is_seen = n_workers > 0 and is_waited_for(offered, n_workers)
        levels = waiting_levels(offered) if is_seen else (n_cpus, 2 * n_cpus)
        most = max(levels) if is_seen else n_cpus
        yield from proposals(
            offered,
            name,
            lambda found, most=most: 0 < (number(found) or 0) < most,  # type: ignore[misc]
            lambda found, levels=levels: above(found, levels),  # type: ignore[misc]
            lambda found, is_seen=is_seen: because(  # type: ignore[misc]
                "advice.processes_asleep" if is_seen else "advice.few_processes",
                found=found,
                n_cpus=n_cpus,
                clients=connections,
            ),
            prior=LIKELY,
            is_seen=is_seen,
        )


def threads(offered: Offered) -> Iterator[KnobProposal]:
    """Propose more threads where an option of the program's own says that there is one."""
    for name in _THREADS:
        yield from proposals(
            offered,
            name,
            lambda found: found == 1 and offered.shape.connections > 1,
            lambda _: (4,),
            because("advice.one_thread", clients=offered.shape.connections),
        )


def pool(offered: Offered) -> Iterator[KnobProposal]:
    """Propose more threads of node for what it cannot wait for otherwise."""
    yield from proposals(
        offered,
        "UV_THREADPOOL_SIZE",
        lambda found: 0 < (number(found) or 0) <= min(_FEW_THREADS, offered.shape.connections - 1),
        lambda _: (_MORE_THREADS,),
        lambda found: because(
            "advice.few_node_threads", found=found, clients=offered.shape.connections
        ),
        prior=POSSIBLE,
    )


def variables(offered: Offered) -> Iterator[KnobProposal]:
    """Propose what the languages themselves hear."""
    shape = offered.shape
    most = max(2 * shape.n_cpus, shape.connections)
    yield from proposals(
        offered,
        "PHP_CLI_SERVER_WORKERS",
        lambda found: (number(found) or 0) < min(most, shape.connections),
        lambda _: (most // 2, most),
        because("advice.one_php_worker", clients=shape.connections),
        prior=LIKELY,
        is_seen=is_waited_for(offered, number(offered.found("PHP_CLI_SERVER_WORKERS")) or 1),
    )
    yield from proposals(
        offered,
        "NODE_ENV",
        lambda found: found in _NOT_PRODUCTION,
        lambda _: ("production",),
        because("advice.templates_not_kept"),
        prior=POSSIBLE,
        expects="cpu",
    )
    yield from proposals(
        offered,
        "GOGC",
        lambda found: number(found) == _GO_USUAL,
        lambda _: (4 * _GO_USUAL,),
        because("advice.heap_collected"),
        prior=POSSIBLE,
        expects="cpu",
    )


RULES = (workers, threads, pool, variables)
"""All rules of these kinds."""
