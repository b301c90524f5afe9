"""One request after the other, each over a connection of its own: to be watched, not measured."""

import http.client
import ssl
from collections import Counter

from httpdyno.errors import TargetError
from httpdyno.load.target import Target

_TIMEOUT_S = 30.0
_HEADERS = {"User-Agent": "httpdyno", "Connection": "close"}


class OneByOne:
    """Asks for a target's path, and counts how it is answered."""

    def __init__(self, target: Target, *, timeout_s: float = _TIMEOUT_S) -> None:
        """Ask nothing yet.

        Args:
            target: What is asked; the certificate of a server is not looked at.
            timeout_s: How long each step of an answer may take.
        """
        self._target = target
        self._timeout_s = timeout_s
        self.answers: Counter[int] = Counter()
        """Status → how often."""

    def ask(self) -> None:
        """Send a request and read its answer to the end.

        Raises:
            TargetError: There was none.
        """
        connection = self._connection()
        try:
            connection.request("GET", self._target.path, headers=_HEADERS)
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise TargetError(f"`{self._target.url}` did not answer: {error}") from error
        finally:
            connection.close()
        self.answers[answer.status] += 1

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._target.host, self._target.port
        if not self._target.is_tls:
            return http.client.HTTPConnection(host, port, timeout=self._timeout_s)
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return http.client.HTTPSConnection(host, port, timeout=self._timeout_s, context=context)
