"""A server's own status page, where its configuration in force has one; nobody adds one."""

from dataclasses import dataclass
from typing import Protocol

from httpdyno.servers.patience import Patience
from httpdyno.servers.probe import ask

FOR_PROGRAMS = "?auto"
"""After the path of Apache's mod_status; without it the page is for people, and tells more."""
_MOST_BYTES = 1 << 20
_OK = 200


class StatusPage(Protocol):
    """What can be asked how a server is."""

    @property
    def is_apart(self) -> bool:
        """Whether none of those that the page tells of answers for it."""

    def text(self, timeout_s: float) -> str:
        """Ask once, and return the page.

        Raises:
            TimeoutError: There is no answer in time: all that could answer are busy.
            OSError: There is another answer, or none will come.
        """

    def workers_text(self, timeout_s: float) -> str:
        """Ask once, and return the page that has each worker; empty where there is none.

        Raises:
            OSError: As above.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpStatusPage:
    """A page that is asked over HTTP, by a connection of its own each time."""

    address: str
    path: str
    """With its query."""
    host: str = ""
    network: str = ""
    """Path of the network namespace that the address is in; empty is this process's."""
    is_apart: bool = False

    def text(self, timeout_s: float) -> str:
        """Ask once, and return the page.

        Raises:
            OSError: It does not answer in time (`TimeoutError`), or with something else.
        """
        return self._asked(self.path, timeout_s)

    def workers_text(self, timeout_s: float) -> str:
        """Ask Apache's page for people, which has each worker; empty of others, that have none.

        Raises:
            OSError: As the page itself.
        """
        path = self.path.removesuffix(FOR_PROGRAMS)
        return "" if path == self.path else self._asked(path, timeout_s)

    def _asked(self, path: str, timeout_s: float) -> str:
        answer = ask(
            self.address,
            path,
            Patience(timeout_s),
            body_patience=Patience(timeout_s),
            most_bytes=_MOST_BYTES,
            network=self.network,
            host=self.host,
        )
        if answer.status == _OK and answer.is_whole:
            return answer.body.decode("utf-8", errors="replace")
        if not answer.status and answer.words in _LATE:
            raise TimeoutError(answer.words)
        raise ConnectionError(f"it answers `{answer.words}`")


_LATE = frozenset({"timed out", "it said nothing"})
"""What `ask` calls it where nothing came in time."""
