"""Waiting until a server answers, and asking its application for its own settings."""

import json
import random
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from httpdyno.reason import Reason, because
from httpdyno.servers.network.address import connected
from httpdyno.servers.network.probe import Answer, Patience, ask

_POLL_S = 0.005
_FAILING_S = 2.0
"""An application that answers 500 for this long is not just warming up."""
_LAST_TRY_S = 0.5
"""For the try after the time is up: it may have come up while this process was not looking."""
_BODY_S = 1.0
"""For the rest of an answer whose status is known: whether it is whole is for the load to see."""
_BODY_BYTES = 1 << 16
_SETTINGS_BYTES = 1 << 20
_OK = 200
_SERVER_ERROR = 500


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """How waiting ended."""

    kind: Literal["answers", "exited", "fails", "silent"]
    why: Reason | None = None
    """Where it fails or is silent."""


def until_next_look() -> None:
    """Wait until a server is looked at again: 5 ms in the mean, and at random.

    Looks in step with its spawning would find two servers alike in each start, or a whole look
    apart, and no spread between starts would tell of it.
    """
    time.sleep(random.uniform(0.0, 2 * _POLL_S))


def await_answer(  # noqa: PLR0913 - whom, what, how long, and what is right
    address: str,
    path: str,
    is_alive: Callable[[], bool],
    patience: Patience,
    *,
    status: int | None = None,
    network: str = "",
    host: str = "",
    is_tls: bool = False,
) -> Readiness:
    """Wait until a GET is answered right, the server exits, keeps failing, or time is up.

    Right is the status wanted; any below 500 where it is None. The address is one of the network
    namespace at the path `network`; empty is this process's. An empty host is the address.
    """

    def tried(patience: Patience) -> Answer:
        return ask(
            address,
            path,
            patience,
            body_patience=Patience(_BODY_S),
            most_bytes=_BODY_BYTES,
            network=network,
            host=host,
            is_tls=is_tls,
        )

    failing_since_s: float | None = None
    while True:
        is_last = patience.is_over
        if not is_alive():
            return Readiness(kind="exited")
        answer = tried(Patience(_LAST_TRY_S) if is_last else patience)
        if _is_right(answer.status, status):
            return Readiness(kind="answers")
        if answer.status:
            now_s = patience.spent_s
            failing_since_s = now_s if failing_since_s is None else failing_since_s
            if now_s - failing_since_s > _FAILING_S:
                return Readiness(kind="fails", why=_answers(answer, path, status))
        if is_last:
            silent = because(
                "servers.no_answer_within",
                path=path,
                timeout_s=patience.timeout_s,
                why=answer.why,
            )
            return Readiness(kind="silent", why=silent)
        until_next_look()


def await_sign(
    is_there: Callable[[], bool],
    what: Reason,
    is_alive: Callable[[], bool],
    patience: Patience,
) -> Readiness:
    """Wait until a sign of readiness is there, the server exits, or time is up.

    Args:
        is_there: Whether it is.
        what: What is waited for.
        is_alive: Whether the server runs.
        patience: As long.
    """
    while True:
        is_last = patience.is_over
        if not is_alive():
            return Readiness(kind="exited")
        if is_there():
            return Readiness(kind="answers")
        if is_last:
            silent = because("servers.none_within", what=what, timeout_s=patience.timeout_s)
            return Readiness(kind="silent", why=silent)
        until_next_look()


def accepts(address: str, network: str = "") -> bool:
    """Whether it takes connections; the address is one of that network namespace."""
    try:
        connected(address, _LAST_TRY_S, network).close()
    except OSError:
        return False
    return True


def application_settings(
    address: str, path: str, *, timeout_s: float, network: str = "", is_tls: bool = False
) -> dict[str, str] | Reason:
    """Return what the application says of its settings as name → text, or what was wrong.

    The address is one of the network namespace at the path `network`; empty is this process's.
    With TLS whatever certificate is shown is taken.
    """
    patience = Patience(timeout_s)
    answer = ask(
        address,
        path,
        patience,
        body_patience=patience,
        most_bytes=_SETTINGS_BYTES,
        network=network,
        is_tls=is_tls,
    )
    if not answer.status:
        return because("servers.no_answer", path=path, why=answer.why)
    if answer.status != _OK:
        return _answers(answer, path)
    if not answer.is_whole:
        return because("servers.answer_did_not_end", path=path, timeout_s=timeout_s)
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return because("servers.no_json_object", path=path)
    return {name: _text(value) for name, value in found.items()}


def _answers(answer: Answer, path: str, wanted: int | None = None) -> Reason:
    if wanted is None:
        return because("servers.answers", status=answer.line, path=path)
    return because("servers.answers_otherwise", status=answer.line, path=path, wanted=wanted)


def _is_right(status: int, wanted: int | None) -> bool:
    return 0 < status < _SERVER_ERROR if wanted is None else status == wanted


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
