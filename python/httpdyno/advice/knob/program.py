"""What may be worth trying in programs of which only the command line is known, and in node's.

Source of what UV_THREADPOOL_SIZE does: nodejs.org/api/cli.html#uv_threadpool_sizesize.
"""

from collections.abc import Iterator

from httpdyno.advice.knob.rule import LIKELY, POSSIBLE, number, proposals
from httpdyno.advice.proposal import KnobProposal, Offered

_WORKERS = ("workers", "worker-processes", "processes", "num-workers", "instances", "cluster")
_THREADS = ("threads", "num-threads", "worker-threads", "thread-pool-size")
"""What people call their programs' own options for these."""
_FEW_THREADS = 4
_MORE_THREADS = 16
_GO_USUAL = 100


def workers(offered: Offered) -> Iterator[KnobProposal]:
    """Propose a process for each core where an option of the program's own says fewer."""
    n_cpus = offered.shape.n_cpus
    for name in _WORKERS:
        yield from proposals(
            offered,
            name,
            # 0 often means as many as there are cores.
            lambda found: 0 < (number(found) or 0) < n_cpus,
            lambda _: (n_cpus, 2 * n_cpus),
            lambda found: f"{found} on {n_cpus} cores, for {offered.shape.connections} clients",
            prior=LIKELY,
        )


def threads(offered: Offered) -> Iterator[KnobProposal]:
    """Propose more threads where an option of the program's own says that there is one."""
    for name in _THREADS:
        yield from proposals(
            offered,
            name,
            lambda found: found == 1 and offered.shape.connections > 1,
            lambda _: (4,),
            lambda _: f"one at a time, for {offered.shape.connections} clients",
        )


def pool(offered: Offered) -> Iterator[KnobProposal]:
    """Propose more threads of node for what it cannot wait for otherwise."""
    yield from proposals(
        offered,
        "UV_THREADPOOL_SIZE",
        lambda found: 0 < (number(found) or 0) <= min(_FEW_THREADS, offered.shape.connections - 1),
        lambda _: (_MORE_THREADS,),
        lambda found: (
            f"files, names and cryptography have {found} threads, for "
            f"{offered.shape.connections} clients"
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
        lambda _: f"one at a time for {shape.connections} clients; all others wait",
        prior=LIKELY,
    )
    yield from proposals(
        offered,
        "NODE_ENV",
        lambda found: not found,
        lambda _: ("production",),
        lambda _: "frameworks such as Express keep compiled templates only in production",
        prior=POSSIBLE,
        expects="cpu",
    )
    yield from proposals(
        offered,
        "GOGC",
        lambda found: number(found) == _GO_USUAL,
        lambda _: (4 * _GO_USUAL,),
        lambda _: "a heap that grows further is collected less often",
        prior=POSSIBLE,
        expects="cpu",
    )


RULES = (workers, threads, pool, variables)
"""All rules of these kinds."""
