"""php-fpm's status page of one pool.

Source: the manual of PHP, install.fpm.configuration, `pm.status_path`.
"""

from dataclasses import dataclass

import msgspec

from httpdyno.servers.php_fpm.fastcgi import ask

_OK = 200


class PoolStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What a pool tells of itself since it was started."""

    pool: str
    manager: str = msgspec.field(name="process manager")
    """`static`, `dynamic` or `ondemand`."""
    n_accepted: int = msgspec.field(name="accepted conn")
    n_idle: int = msgspec.field(name="idle processes")
    n_active: int = msgspec.field(name="active processes")
    n_total: int = msgspec.field(name="total processes")
    n_full: int = msgspec.field(name="max children reached")
    """How often all children that may be were there, and more were wanted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolStatusPage:
    """The status page of a pool, for whoever wants it as text."""

    address: str
    path: str
    network: str
    is_apart: bool
    """Whether another process than the pool's children answers for it."""

    def text(self, timeout_s: float) -> str:
        """Ask once, and return the page as JSON.

        Raises:
            OSError: It does not answer in time, or with something else.
        """
        return self._text("json", timeout_s)

    def workers_text(self, timeout_s: float) -> str:
        """Ask once, and return the page that has each child, as JSON.

        Raises:
            OSError: It does not answer in time, or with something else.
        """
        return self._text("json&full", timeout_s)

    def _text(self, query: str, timeout_s: float) -> str:
        body = _asked(self.address, self.path, timeout_s, self.network, query)
        return body.decode("utf-8", "replace")


def pool_status(address: str, path: str, timeout_s: float, network: str = "") -> PoolStatus:
    """Ask a pool's status page.

    Raises:
        OSError: It does not answer in time, or with something else.
    """
    body = _asked(address, path, timeout_s, network)
    try:
        return msgspec.json.decode(body, type=PoolStatus)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConnectionError(f"its status page is not understood: {error}") from error


def _asked(address: str, path: str, timeout_s: float, network: str, query: str = "json") -> bytes:
    parameters = {"SCRIPT_NAME": path, "SCRIPT_FILENAME": path, "QUERY_STRING": query}
    answer = ask(address, parameters, timeout_s=timeout_s, network=network)
    if answer.status != _OK:
        raise ConnectionError(f"its status page answers {answer.status}")
    return answer.body
