"""What is said of the load beside which a server is looked at; without arrays, unlike the load."""

from collections.abc import Sequence
from dataclasses import dataclass

from httpdyno.errors import UsageError

DEFAULT_CONNECTIONS = 4
DEFAULT_DURATION = "20s"


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadAsked:
    """All that was said of the load."""

    urls: Sequence[str]
    duration: str | None = None
    connections: int | None = None
    status: str | None = None
    respawn: Sequence[str] = ()

    def require_load(self) -> None:
        """Refuse what is for a load where there is none.

        Raises:
            UsageError: With the option.
        """
        words = {
            "--for": self.duration,
            "-c": self.connections,
            "--respawn": self.respawn or None,
        }
        given = next((option for option, value in words.items() if value is not None), "")
        if given and not self.urls:
            raise UsageError(
                f"`{given}` is for `--load`, without which nothing is sent",
                hint="name what may be loaded: `--load http://127.0.0.1:8000/`",
            )
