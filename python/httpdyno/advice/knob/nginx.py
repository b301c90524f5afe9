"""What may be worth trying in nginx.

Source of what settings do: nginx.org/en/docs/ngx_core_module.html and the modules' own pages.
"""

import re
from collections.abc import Iterator

from msgspec import structs

from httpdyno.advice.proposal import (
    LIKELY,
    POSSIBLE,
    WEAK,
    KnobProposal,
    Offered,
    number,
    overflowing,
    proposals,
    uncompressed,
)
from httpdyno.model import Survey
from httpdyno.reason import because

_TO_FILE = re.compile("buffered to a temporary file")
"""What nginx itself writes of an answer that no buffer holds."""
_KEPT = 16
"""Idle connections to a backend that each worker keeps."""
_FEW_HANDSHAKES = 0.1
"""For each answer: connections that are kept have fewer."""
_FEW = 0.3
"""Of the requests: a smaller share of them does not matter."""


def workers(offered: Offered) -> Iterator[KnobProposal]:
    """Propose a worker for each core: a worker is one thread, and uses one core at most."""
    n_cpus = offered.shape.n_cpus
    yield from proposals(
        offered,
        "worker_processes",
        lambda found: (number(found) or n_cpus) < n_cpus,
        lambda _: (n_cpus,),
        lambda found: because("advice.few_nginx_workers", found=found, n_cpus=n_cpus),
        prior=LIKELY,
    )
    yield from proposals(
        offered,
        "worker_processes",
        lambda found: (number(found) or n_cpus) > 2 * n_cpus,
        lambda _: (n_cpus,),
        lambda found: because("advice.many_nginx_workers", found=found, n_cpus=n_cpus),
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
        lambda found: because(
            "advice.few_connections", found=found, clients=offered.shape.connections
        ),
        prior=LIKELY,
    )


def sending(offered: Offered) -> Iterator[KnobProposal]:
    """Propose that the kernel sends files by itself, and headers with them."""
    yield from proposals(
        offered,
        "sendfile",
        lambda found: found == "off" and _has_files(offered),
        lambda _: ("on", "on+nopush"),
        because("advice.files_copied"),
        expects="cpu",
    )


def backends(offered: Offered) -> Iterator[KnobProposal]:
    """Propose connections to backends that stay: else each request opens one and closes it."""
    for each in proposals(
        offered,
        "upstream_keepalive",
        lambda found: found == 0,
        lambda _: (_KEPT,),
        because("advice.backend_closed"),
        expects="latency",
    ):
        to = each.name.partition("@")[2]
        protocols = {backend.protocol for backend in offered.survey.backends if backend.to == to}
        if "fastcgi" in (protocols or {each.protocol for each in offered.survey.backends}):
            yield _kept_by_processes(offered, each)
        elif _is_closed_by(offered.others.get("gunicorn")):
            yield structs.replace(each, blocked=because("advice.closed_by_sync"))
        else:
            yield each


def _kept_by_processes(offered: Offered, proposal: KnobProposal) -> KnobProposal:
    """Bound the idle connections: each occupies a process, and those of one worker only that one.

    Where they were more than processes, requests of other workers would find none.
    """
    php = offered.others.get("php-fpm")
    pools = [r.text for r in php.readings if r.name == "pm.max_children"] if php else []
    if not pools or not all(text.isdecimal() for text in pools):
        return structs.replace(proposal, blocked=because("advice.backend_size_unknown"))
    # Workers may be proposed up to one for each core.
    n_workers = max(int(number(offered.found("worker_processes")) or 1), offered.shape.n_cpus)
    n_children = min(map(int, pools))
    if n_children < n_workers:
        return structs.replace(
            proposal,
            blocked=because("advice.backend_held", n=n_workers, n_processes=n_children),
        )
    return structs.replace(proposal, levels=(min(_KEPT, n_children // n_workers),))


def _is_closed_by(gunicorn: Survey | None) -> bool:
    """Whether the backend closes each connection, whatever it is asked: sync workers do."""
    said = {r.name: r.text for r in gunicorn.readings} if gunicorn else {}
    return said.get("worker_class") == "sync" and said.get("threads") == "1"


def buffers(offered: Offered) -> Iterator[KnobProposal]:
    """Propose more memory for answers of backends where nginx wrote some to files."""
    n_written = sum(map(bool, map(_TO_FILE.search, offered.shape.words)))
    for name in ("proxy_buffers", "fastcgi_buffers"):
        yield from proposals(
            offered,
            name,
            lambda found: n_written > 0 and found in {"8x4k", "8x8k"},
            lambda _: ("8x16k", "16x32k"),
            lambda found: because("advice.buffers_too_small", found=found),
            prior=LIKELY,
            expects="cpu",
        )


def compression(offered: Offered) -> Iterator[KnobProposal]:
    """Propose the cheapest level of compression where a dear one is set."""
    yield from proposals(
        offered,
        "gzip_comp_level",
        lambda found: (number(found) or 0) > 2,  # noqa: PLR2004 - the next two hardly differ
        lambda _: (1,),
        lambda found: because("advice.dear_gzip", found=found),
        prior=LIKELY,
        expects="cpu",
        blocked=uncompressed(offered),
    )


def files(offered: Offered) -> Iterator[KnobProposal]:
    """Propose to keep files open: each request opens and closes one anew."""
    yield from proposals(
        offered,
        "open_file_cache",
        lambda found: found == "off" and _has_files(offered),
        lambda _: ("10000/60s",),
        because("advice.files_reopened"),
        expects="cpu",
    )


def logs(offered: Offered) -> Iterator[KnobProposal]:
    """Propose to write log lines together: each request is a system call."""
    yield from proposals(
        offered,
        "access_log_buffer",
        lambda found: found == "none",
        lambda _: ("32k/1s",),
        because("advice.log_unbuffered"),
        expects="cpu",
    )


def keeping(offered: Offered) -> Iterator[KnobProposal]:
    """Propose connections of clients that stay, where they are closed after each request."""
    yield from proposals(
        offered,
        "keepalive_timeout",
        lambda found: found == 0 and offered.shape.is_keep_alive,
        lambda _: (15,),
        because("advice.client_closed"),
        prior=LIKELY,
    )
    yield from proposals(
        offered,
        "keepalive_requests",
        lambda found: (number(found) or 100) < 100,  # noqa: PLR2004 - below the old default
        lambda _: (1000,),
        lambda found: because("advice.closed_after", found=found),
    )


def sessions(offered: Offered) -> Iterator[KnobProposal]:
    """Propose to keep TLS sessions where clients come anew and take none up again."""
    burst = offered.shape.burst
    if burst is None:
        return
    # The first connection of each client says nothing: all of them came at once.
    n_more = burst.n_handshakes_full - burst.connections
    if n_more <= _FEW_HANDSHAKES * burst.n_answers:
        return
    yield from proposals(
        offered,
        "ssl_session_cache",
        lambda found: found in {"none", "off"},
        lambda _: ("10m/5m",),
        because(
            "advice.whole_handshakes",
            whole=burst.n_handshakes_full,
            answers=burst.n_answers,
            resumed=burst.n_handshakes_resumed,
        ),
        expects="cpu",
    )


def queues(offered: Offered) -> Iterator[KnobProposal]:
    """Propose longer queues where connections found one full."""
    yield from overflowing(offered, "listen_backlog")


def weak(offered: Offered) -> Iterator[KnobProposal]:
    """List what rarely matters, so that it is known that it was thought of."""
    yield from proposals(
        offered,
        "multi_accept",
        lambda found: found is False,
        lambda _: (True,),
        because("advice.many_at_once"),
        prior=WEAK,
    )
    yield from proposals(
        offered,
        "listen_backlog",
        lambda found: (number(found) or 4096) < 4096,  # noqa: PLR2004 - what kernels allow
        lambda _: (4096,),
        lambda found: because("advice.queue_may_overflow", found=found),
        prior=POSSIBLE if offered.shape.connections > 400 else WEAK,  # noqa: PLR2004 - near 511
    )


def _has_files(offered: Offered) -> bool:
    """Whether enough of the requests are answered from files, or nobody looked."""
    share = offered.shape.static_share
    return share is None or share > _FEW


RULES = (
    *(workers, connections, sending, backends, buffers, compression, files, logs, keeping),
    *(sessions, queues, weak),
)
"""All rules of this kind."""
