"""A server's own status page, asked for where a person says that it is."""

from collections.abc import Callable

from httpdyno.errors import TargetError, UsageError
from httpdyno.load.target import Target, is_loopback, parse_url, resolve
from httpdyno.servers.patience import Patience
from httpdyno.servers.probe import Answer, ask
from httpdyno.telemetry.status_text import PAGES, Status, status

_MOST_BYTES = 1 << 20
_OK = 200
_LONGEST_S = 1.0
_SHARE = 0.25
"""Of the time between two looks that an answer may take, twice: its head and its body."""


def status_page(url: str, every_s: float) -> Callable[[], Status | str]:
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
    try:
        target = parse_url(url)
    except UsageError as error:  # its hints are those of a load test
        hint = "such as `http://127.0.0.1/server-status?auto`"
        raise UsageError(f"`--status`: {error}", hint=hint) from error
    address = resolve(target)
    if not is_loopback(address):
        raise UsageError(
            f"`--status {url}` is not on this machine's loopback",
            hint="a server that runs here says its status at `http://127.0.0.1/…` or `localhost`",
        )
    patience_s = min(_LONGEST_S, _SHARE * every_s)

    def said() -> Status | str:
        return _read(_answer(target, address, patience_s))

    first = _answer(target, address, _LONGEST_S)
    why = _read(first)
    if isinstance(why, str) and (first.status or first.words != "timed out"):
        raise TargetError(f"`--status {url}`: {why}", hint=f"expected {PAGES}")
    return said


def _answer(target: Target, address: str, patience_s: float) -> Answer:
    return ask(
        address,
        target.path,
        Patience(patience_s),
        body_patience=Patience(patience_s),
        most_bytes=_MOST_BYTES,
        host=target.authority,
        is_tls=target.is_tls,
    )


def _read(answer: Answer) -> Status | str:
    if answer.status != _OK:
        return f"it answered `{answer.words}`" if answer.status else answer.words
    if not answer.is_whole:
        return "its answer did not end"
    return status(answer.body.decode("utf-8", "replace")) or "its answer is no status page"
