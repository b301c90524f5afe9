"""What may be worth trying in nginx.

Source of what settings do: nginx.org/en/docs/ngx_core_module.html and the modules' own pages.
"""

from collections.abc import Iterator

from httpdyno.advice.knob.rule import LIKELY, POSSIBLE, WEAK, number, proposals
from httpdyno.advice.proposal import KnobProposal, Offered


def workers(offered: Offered) -> Iterator[KnobProposal]:
    """Propose a worker for each core: a worker is one thread, and uses one core at most."""
    n_cpus = offered.shape.n_cpus
    yield from proposals(
        offered,
        "worker_processes",
        lambda found: (number(found) or n_cpus) < n_cpus,
        lambda _: (n_cpus,),
        lambda found: f"{found} worker on {n_cpus} cores, and each uses one core at most",
        prior=LIKELY,
    )
    yield from proposals(
        offered,
        "worker_processes",
        lambda found: (number(found) or n_cpus) > 2 * n_cpus,
        lambda _: (n_cpus,),
        lambda found: f"{found} workers on {n_cpus} cores take turns",
        expects="cpu",
    )


def connections(offered: Offered) -> Iterator[KnobProposal]:
    """Propose more connections where the clients and their backends come near the limit."""
    needed = 2 * offered.shape.connections
    n_workers = number(offered.found("worker_processes")) or 1
    yield from proposals(
        offered,
        "worker_connections",
        lambda found: (number(found) or needed) * n_workers < 2 * needed,
        lambda _: (max(1024, 4 * needed),),
        lambda found: (
            f"{found} connections of each worker, for clients and backends together, "
            f"where {offered.shape.connections} clients come at a time"
        ),
        prior=LIKELY,
    )


def sending(offered: Offered) -> Iterator[KnobProposal]:
    """Propose that the kernel sends files by itself, and headers with them."""
    yield from proposals(
        offered,
        "sendfile",
        lambda found: found == "off",
        lambda _: ("on", "on+nopush"),
        lambda _: "files are read into the worker and written out again",
        expects="cpu",
    )


def backends(offered: Offered) -> Iterator[KnobProposal]:
    """Propose connections to backends that stay: else each request opens one and closes it."""
    yield from proposals(
        offered,
        "upstream_keepalive",
        lambda found: found == 0,
        lambda _: (16,),
        lambda _: "each request to the backend opens a connection and closes it",
        expects="latency",
    )


def compression(offered: Offered) -> Iterator[KnobProposal]:
    """Propose the cheapest level of compression where a dear one is set."""
    yield from proposals(
        offered,
        "gzip_comp_level",
        lambda found: (number(found) or 0) > 2,  # noqa: PLR2004 - the next two hardly differ
        lambda _: (1,),
        lambda found: (
            f"answers are compressed at level {found}: most of what is gained by it is "
            "gained at level 1, for a part of the CPU time"
        ),
        prior=LIKELY,
        expects="cpu",
    )


def files(offered: Offered) -> Iterator[KnobProposal]:
    """Propose to keep files open: each request opens and closes one anew."""
    yield from proposals(
        offered,
        "open_file_cache",
        lambda found: found == "off",
        lambda _: ("10000/60s",),
        lambda _: "each file is opened and closed for each request",
        expects="cpu",
    )


def logs(offered: Offered) -> Iterator[KnobProposal]:
    """Propose to write log lines together: each request is a system call."""
    yield from proposals(
        offered,
        "access_log_buffer",
        lambda found: found == "none",
        lambda _: ("256k/5s",),
        lambda _: "a line of log is written for each request",
        expects="cpu",
    )


def keeping(offered: Offered) -> Iterator[KnobProposal]:
    """Propose connections of clients that stay, where they are closed after each request."""
    yield from proposals(
        offered,
        "keepalive_timeout",
        lambda found: found == 0 and offered.shape.is_keep_alive,
        lambda _: (15,),
        lambda _: "each request of a client opens a connection and closes it",
        prior=LIKELY,
    )
    yield from proposals(
        offered,
        "keepalive_requests",
        lambda found: (number(found) or 100) < 100,  # noqa: PLR2004 - below the old default
        lambda _: (1000,),
        lambda found: f"connections are closed after {found} requests",
    )


def weak(offered: Offered) -> Iterator[KnobProposal]:
    """List what rarely matters, so that it is known that it was thought of."""
    yield from proposals(
        offered,
        "multi_accept",
        lambda found: found is False,
        lambda _: (True,),
        lambda _: "matters where many connections come at the same instant",
        prior=WEAK,
    )
    yield from proposals(
        offered,
        "listen_backlog",
        lambda found: (number(found) or 4096) < 4096,  # noqa: PLR2004 - what kernels allow
        lambda _: (4096,),
        lambda found: f"a queue of {found} overflows where more connections come at an instant",
        prior=POSSIBLE if offered.shape.connections > 400 else WEAK,  # noqa: PLR2004 - near 511
    )


RULES = (workers, connections, sending, backends, compression, files, logs, keeping, weak)
"""All rules of this kind."""
