"""What an Apache's workers are at, by some looks at its status page, where a person says it is."""

import time

from httpdyno.advice.rules.facts import KeptWorkers
from httpdyno.cli.status_page import answer, page_at
from httpdyno.telemetry.status import IDLE, KEPT, scoreboard

_N_LOOKS = 10
_EVERY_S = 0.2
_PATIENCE_S = 0.5
_MOST_BYTES = 1 << 22


def kept_workers(url: str) -> KeptWorkers | None:
    """Return the means over ten looks within two seconds; None where it is no page of Apache's.

    Raises:
        UsageError: It is no URL, or not on this machine's loopback.
        TargetError: Its name has no address.
    """
    target, address = page_at(url)
    looks = []
    for nth in range(_N_LOOKS):
        if nth:
            time.sleep(_EVERY_S)
        told = answer(target, address, _PATIENCE_S, most_bytes=_MOST_BYTES)
        seen = scoreboard(told.body.decode("utf-8", "replace"))
        if seen is not None:
            looks.append(seen.others)
        elif not looks:
            return None
    n = len(looks)
    return KeptWorkers(
        n_looks=n,
        n_workers=sum(sum(each.values()) for each in looks) / n,
        n_kept=sum(each.get(KEPT, 0) for each in looks) / n,
        n_idle=sum(each.get(IDLE, 0) for each in looks) / n,
    )
