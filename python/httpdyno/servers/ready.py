"""Waiting until a server answers, and asking its application for its own settings."""

import http.client
import json
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from httpdyno.servers.port import HeldPort
from httpdyno.servers.render import LOOPBACK

_POLL_S = 0.005
_FAILING_S = 2.0
"""An application that answers 500 for this long is not just warming up."""
_SERVER_ERROR = 500


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """How waiting ended."""

    kind: Literal["answers", "exited", "fails", "silent"]
    detail: str = ""


def await_answer(
    port: HeldPort, path: str, is_alive: Callable[[], bool], *, timeout_s: float
) -> Readiness:
    """Wait until a GET is answered below 500, the server exits, keeps failing, or time is up."""
    deadline = time.monotonic() + timeout_s
    failing_since_s: float | None = None
    answer = "nothing"
    while (now := time.monotonic()) < deadline:
        if not is_alive():
            return Readiness(kind="exited")
        status, answer = _get(port, path, deadline - now)
        if 0 < status < _SERVER_ERROR:
            return Readiness(kind="answers")
        if status >= _SERVER_ERROR:
            failing_since_s = failing_since_s or now
            if time.monotonic() - failing_since_s > _FAILING_S:
                return Readiness(kind="fails", detail=f"it answers `{answer}` to GET {path}")
        time.sleep(_POLL_S)
    return Readiness(
        kind="silent", detail=f"no answer to GET {path} within {timeout_s:g} s ({answer})"
    )


def application_settings(port: HeldPort, path: str, *, timeout_s: float) -> dict[str, str] | str:
    """Return what the application says of its settings as name → text, or what was wrong."""
    connection = http.client.HTTPConnection(LOOPBACK, port.number, timeout=timeout_s)
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        response = connection.getresponse()
        body = response.read(1 << 20)
        if response.status != http.client.OK:
            return f"it answers `{response.status} {response.reason}` to GET {path}"
        found = json.loads(body)
    except (OSError, http.client.HTTPException) as error:
        return f"no answer to GET {path}: {error}"
    except ValueError:
        return f"GET {path} did not bring a JSON object"
    finally:
        connection.close()
    if not isinstance(found, dict):
        return f"GET {path} did not bring a JSON object"
    return {name: _text(value) for name, value in found.items()}


def _get(port: HeldPort, path: str, timeout_s: float) -> tuple[int, str]:
    """Return status and status line; status 0 where there was no answer."""
    connection = http.client.HTTPConnection(LOOPBACK, port.number, timeout=max(timeout_s, _POLL_S))
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        response = connection.getresponse()
        response.read(1 << 16)
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error) or type(error).__name__
    else:
        return response.status, f"{response.status} {response.reason}"
    finally:
        connection.close()


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
