"""A status page that tells how many requests each worker served, where a person says it is."""

from collections.abc import Callable, Mapping

from httpdyno.cli.status_page import answer, page_at
from httpdyno.errors import TargetError
from httpdyno.telemetry.status import served_by_pid

_FIRST_PATIENCE_S = 10.0
_PATIENCE_S = 0.5
_MOST_BYTES = 1 << 22


def worker_status(url: str) -> Callable[[], Mapping[int, int] | None]:
    """Return what has a server say how many requests each worker served; None where it does not.

    It is asked once here, since a wrong address stays wrong.

    Raises:
        UsageError: It is no URL, or not on this machine's loopback.
        TargetError: It tells nothing of that.
    """
    target, address = page_at(url)

    def said(patience_s: float = _PATIENCE_S) -> Mapping[int, int] | None:
        told = answer(target, address, patience_s, most_bytes=_MOST_BYTES)
        return served_by_pid(told.body.decode("utf-8", "replace")) or None

    if said(_FIRST_PATIENCE_S) is None:
        raise TargetError(
            f"`--status {url}` does not tell how many requests each worker served",
            hint="expected Apache's `server-status`, as a page and not `?auto`, with "
            "`ExtendedStatus On`, or php-fpm's status page with `?full`",
        )
    return said
