"""What may be worth trying in php-fpm.

Source of what settings do: php.net/manual/en/install.fpm.configuration.php, opcache.configuration.
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
    number,
    proposals,
)
from httpdyno.reason import because

_FEW_REQUESTS = 200
"""A process that answers fewer costs a fork for each of them that can be felt."""
_SURE = 0.95


def children(offered: Offered) -> Iterator[KnobProposal]:
    """Propose as many processes as there are clients; half as many, too.

    A process answers one request at a time, whatever it waits for.
    """
    shape = offered.shape
    most = max(2 * shape.n_cpus, shape.connections)
    yield from proposals(
        offered,
        "pm.max_children",
        lambda found: (number(found) or most) < min(most, shape.connections),
        lambda found: above(found, (most // 2, most)),
        lambda found: because("advice.others_wait", found=found, clients=shape.connections),
        prior=_SURE,
        is_seen=is_waited_for(offered, number(offered.found("pm.max_children")) or 1),
    )


def lives(offered: Offered) -> Iterator[KnobProposal]:
    """Propose longer lives of processes: each one begins with a fork and empty caches."""
    yield from proposals(
        offered,
        "pm.max_requests",
        lambda found: 0 < (number(found) or 0) < _FEW_REQUESTS,
        lambda _: (5000,),
        lambda found: because("advice.few_requests_of_life", found=found),
        prior=LIKELY,
        expects="cpu",
    )


def compiled(offered: Offered) -> Iterator[KnobProposal]:
    """Propose to keep compiled scripts."""
    yield from proposals(
        offered,
        "opcache.enable",
        lambda found: found is False,
        lambda _: (True,),
        because("advice.scripts_compiled"),
        prior=0.9,
        expects="cpu",
    )
    yield from proposals(
        offered,
        "opcache.jit",
        lambda found: found == "off" and offered.found("opcache.enable") is not False,
        lambda _: ("tracing/64M",),
        because("advice.helps_where_computed"),
        prior=WEAK,
        expects="cpu",
    )


def checked(offered: Offered) -> Iterator[KnobProposal]:
    """Propose not to look for changed scripts at each request; until then old code answers."""
    yield from proposals(
        offered,
        "opcache.validate_timestamps",
        # Without OPcache every script is read and compiled anyway.
        lambda found: found is True and offered.found("opcache.enable") is not False,
        lambda _: (False,),
        because("advice.scripts_checked"),
        expects="cpu",
    )


def management(offered: Offered) -> Iterator[KnobProposal]:
    """Propose processes that stay, where they are forked when requests come."""
    yield from proposals(
        offered,
        "pm",
        lambda found: found == "ondemand",
        lambda _: ("static",),
        because("advice.forked_on_demand"),
        prior=POSSIBLE,
        expects="latency",
    )


def debugging(offered: Offered) -> Iterator[KnobProposal]:
    """Propose that assertions are not compiled, as production's own settings have it."""
    yield from proposals(
        offered,
        "zend.assertions",
        lambda found: found == 1,
        lambda _: (-1,),
        because("advice.assertions_run"),
        expects="cpu",
    )


RULES = (children, lives, compiled, checked, management, debugging)
"""All rules of this kind."""
