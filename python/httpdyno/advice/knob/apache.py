"""What may be worth trying in Apache.

Source of what settings do: httpd.apache.org/docs/2.4/mod/.
"""

from collections.abc import Iterator

from httpdyno.advice.proposal import (
    LIKELY,
    POSSIBLE,
    WEAK,
    KnobProposal,
    Offered,
    is_waited_for,
    number,
    overflowing,
    proposals,
    uncompressed,
)
from httpdyno.advice.rules.apache import HEAVY_BYTES
from httpdyno.reason import because

_FEW_REQUESTS = 200
_LOUD = ("debug", "info", "trace")
MOSTLY = 0.5
"""Of the requests: more than this share."""


def workers(offered: Offered) -> Iterator[KnobProposal]:
    """Propose as many workers as clients, and more; all others wait."""
    shape = offered.shape
    most = max(4 * shape.n_cpus, 2 * shape.connections)
    threads = int(number(offered.found("ThreadsPerChild")) or 1)
    most = max(threads, most // threads * threads)
    yield from proposals(
        offered,
        "MaxRequestWorkers",
        lambda found: (number(found) or most) < min(most, shape.connections),
        lambda _: (most,),
        lambda found: because("advice.others_wait", found=found, clients=shape.connections),
        prior=LIKELY,
        is_seen=is_waited_for(offered, number(offered.found("MaxRequestWorkers")) or 1),
    )


def lives(offered: Offered) -> Iterator[KnobProposal]:
    """Propose longer lives of processes: each one begins with a fork, and mod_perl's with more."""
    yield from proposals(
        offered,
        "MaxConnectionsPerChild",
        lambda found: 0 < (number(found) or 0) < _FEW_REQUESTS,
        lambda _: (10_000,),
        lambda found: because("advice.few_connections_of_life", found=found),
        prior=LIKELY,
        expects="cpu",
    )


def overrides(offered: Offered) -> Iterator[KnobProposal]:
    """Propose that `.htaccess` files are not looked for in each folder for each request.

    Once they are inlined, what an application writes into them is not heard: only where somebody
    agrees to that (`proposal.allowance`).
    """
    yield from proposals(
        offered,
        "htaccess",
        lambda found: found == "found",
        lambda _: ("inlined",),
        because("advice.htaccess_read"),
        expects="cpu",
    )


def keeping(offered: Offered) -> Iterator[KnobProposal]:
    """Propose connections that stay where each request opens one."""
    yield from proposals(
        offered,
        "KeepAlive",
        lambda found: found is False and offered.shape.is_keep_alive,
        lambda _: (True,),
        because("advice.kept_none"),
        prior=LIKELY,
    )


def closing(offered: Offered) -> Iterator[KnobProposal]:
    """Propose to close connections that heavy processes keep: each holds one and does nothing.

    Not with TLS, where each request would have a handshake of its own.
    """
    room = offered.rooms.get("")
    each_bytes = 0 if room is None else room.each_bytes
    is_secured = any(each.is_tls for each in offered.survey.listeners)
    is_prefork = "mpm_prefork_module" in offered.survey.modules
    if not is_prefork or is_secured or each_bytes < HEAVY_BYTES:
        return
    yield from proposals(
        offered,
        "KeepAlive",
        lambda found: found is True and offered.shape.is_keep_alive,
        lambda _: (False,),
        because("advice.held_by_kept", each=each_bytes),
    )


def lookups(offered: Offered) -> Iterator[KnobProposal]:
    """Propose not to ask for the names of clients while they wait."""
    yield from proposals(
        offered,
        "HostnameLookups",
        lambda found: found in {"On", "Double"},
        lambda _: ("Off",),
        because("advice.names_asked"),
        prior=LIKELY,
        expects="latency",
    )


def loudness(offered: Offered) -> Iterator[KnobProposal]:
    """Propose to log warnings only."""
    yield from proposals(
        offered,
        "LogLevel",
        lambda found: str(found).startswith(_LOUD),
        lambda _: ("warn",),
        lambda found: because("advice.loud_log", found=found),
        expects="cpu",
    )


def logs(offered: Offered) -> Iterator[KnobProposal]:
    """Propose to write log lines together: each request is a system call."""
    yield from proposals(
        offered,
        "BufferedLogs",
        lambda found: found is False,
        lambda _: (True,),
        because("advice.log_unbuffered"),
        expects="cpu",
    )


def compression(offered: Offered) -> Iterator[KnobProposal]:
    """Propose the cheapest level of compression where a dear one is in force."""
    yield from proposals(
        offered,
        "DeflateCompressionLevel",
        lambda found: (number(found) or 0) > 3,  # noqa: PLR2004 - zlib's fast levels end there
        lambda _: (1,),
        lambda found: because("advice.dear_deflate", found=found),
        expects="cpu",
        blocked=uncompressed(offered),
    )


def queues(offered: Offered) -> Iterator[KnobProposal]:
    """Propose a longer queue where connections found it full."""
    yield from overflowing(offered, "ListenBacklog")


def weak(offered: Offered) -> Iterator[KnobProposal]:
    """List what rarely matters, so that it is known that it was thought of."""
    is_static = (offered.shape.static_share or 0) > MOSTLY
    for name, level in (("EnableSendfile", True), ("ExtendedStatus", False)):
        yield from proposals(
            offered,
            name,
            lambda found, wanted=level: found is (not wanted),  # type: ignore[misc]
            lambda _, wanted=level: (wanted,),  # type: ignore[misc]
            because("advice.little_for_small"),
            prior=POSSIBLE if is_static and name == "EnableSendfile" else WEAK,
            expects="cpu",
        )


RULES = (
    workers,
    lives,
    overrides,
    keeping,
    closing,
    lookups,
    loudness,
    logs,
    compression,
    queues,
    weak,
)
"""All rules of this kind."""
