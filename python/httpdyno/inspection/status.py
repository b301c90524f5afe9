"""What servers say of themselves on status pages, asked for where a person says that they are."""

import time
from collections.abc import Callable, Mapping

from httpdyno.advice.rules.facts import KeptWorkers
from httpdyno.errors import TargetError, UsageError
from httpdyno.load.target import Target, is_loopback, parse_url, resolve
from httpdyno.reason import Reason, because
from httpdyno.servers.network.probe import TIMED_OUT, Answer, Patience, ask
from httpdyno.telemetry.status import IDLE, KEPT, Status, scoreboard, served_by_pid, status

_URL_HINT = "such as `http://127.0.0.1/server-status?auto`"
_MOST_BYTES = 1 << 20
_MOST_OF_WORKERS = 1 << 22
"""Bytes of a page with a row for each worker."""
_FIRST_TIMEOUT_S = 10.0
_TIMEOUT_S = 0.5
_N_SAMPLES, _SAMPLE_EVERY_S = 10, 0.2
_OK = 200
_LONGEST_S = 1.0
_SHARE = 0.25
"""Of the time between two looks that an answer may take, twice: its head and its body."""


def status_page(url: str, every_s: float) -> Callable[[], Status | Reason]:
    """Return what has the server say its status, or says why it does not.

    It is asked once here, since a wrong address stays wrong. Where all workers are busy there is
    no answer in time, which may be just what somebody wants to watch.

    Args:
        url: On this machine's loopback.
        every_s: How often it will be asked.

    Raises:
        UsageError: It is elsewhere.
        TargetError: Nobody answers there, or with something else.
    """
    target, address = page_at(url)
    timeout_s = min(_LONGEST_S, _SHARE * every_s)

    def said() -> Status | Reason:
        return _read(answer(target, address, timeout_s))

    first = answer(target, address, _LONGEST_S)
    why = _read(first)
    is_late = first.why is not None and first.why.code == TIMED_OUT
    if isinstance(why, Reason) and not is_late:
        raise TargetError(
            f"`--status {url}`",
            why=[why],
            hint="expected Apache's `server-status`, nginx's stub_status, or php-fpm's status page",
        )
    return said


def page_at(url: str) -> tuple[Target, str]:
    """Return what `--status` names, with the address of it.

    Raises:
        UsageError: It is no URL, or not on this machine's loopback.
        TargetError: Its name has no address.
    """
    try:
        target = parse_url(url)
    except UsageError as error:  # its hints are those of a load test
        raise UsageError(f"`--status`: {error}", hint=_URL_HINT) from error
    address = resolve(target)
    if not is_loopback(address):
        raise UsageError(
            f"`--status {url}` is not on this machine's loopback",
            hint="a server that runs here says its status at `http://127.0.0.1/…` or `localhost`",
        )
    return target, address


def answer(
    target: Target, address: str, timeout_s: float, *, most_bytes: int = _MOST_BYTES
) -> Answer:
    """Ask once; head and body may each take so long."""
    return ask(
        address,
        target.path,
        Patience(timeout_s),
        body_patience=Patience(timeout_s),
        most_bytes=most_bytes,
        host=target.authority,
        is_tls=target.is_tls,
    )


def _read(told: Answer) -> Status | Reason:
    if told.why is not None:
        return told.why
    if told.status != _OK:
        return because("telemetry.status_refused", line=told.line)
    if not told.is_whole:
        return because("telemetry.status_did_not_end")
    found = status(told.body.decode("utf-8", "replace"))
    return found or because("telemetry.no_status_page")


def worker_status(url: str) -> Callable[[], Mapping[int, int] | None]:
    """Return what has a server say how many requests each worker served; None where it does not.

    It is asked once here, since a wrong address stays wrong.

    Raises:
        UsageError: It is no URL, or not on this machine's loopback.
        TargetError: It tells nothing of that.
    """
    target, address = page_at(url)

    def said(timeout_s: float = _TIMEOUT_S) -> Mapping[int, int] | None:
        told = answer(target, address, timeout_s, most_bytes=_MOST_OF_WORKERS)
        return served_by_pid(told.body.decode("utf-8", "replace")) or None

    if said(_FIRST_TIMEOUT_S) is None:
        raise TargetError(
            f"`--status {url}` does not tell how many requests each worker served",
            hint="expected Apache's `server-status`, as a page and not `?auto`, with "
            "`ExtendedStatus On`, or php-fpm's status page with `?full`",
        )
    return said


def kept_workers(url: str) -> KeptWorkers | None:
    """Return the means over ten looks within two seconds; None where it is no page of Apache's.

    Raises:
        UsageError: It is no URL, or not on this machine's loopback.
        TargetError: Its name has no address.
    """
    target, address = page_at(url)
    looks = []
    for nth in range(_N_SAMPLES):
        if nth:
            time.sleep(_SAMPLE_EVERY_S)
        told = answer(target, address, _TIMEOUT_S, most_bytes=_MOST_OF_WORKERS)
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
