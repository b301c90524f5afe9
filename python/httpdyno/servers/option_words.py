"""Options of command lines, as words. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from httpdyno.servers.network.address import unix_address

_ADDRESS = re.compile(
    r"(?P<scheme>(?:tcp|tcp4|tcp6|ssl|http|https)://)?"
    r"(?:(?P<host>\[[0-9A-Fa-f:.%]+\]|[0-9A-Fa-f:]*:[0-9A-Fa-f:]*(?=:)|[\w.-]*|\*):)?(?P<port>\d+)"
    r"(?P<rest>/?(?:\?.*)?)"
)


def option(words: Sequence[str], *names: str) -> str:
    """Return the value of the last of these options: `-p 80`, `-p80`, `--port 80`, `--port=80`."""
    found = [value for _, _, value in _uses(words, names)]
    return found[-1] if found else ""


def options(words: Sequence[str], *names: str) -> list[str]:
    """Return the values of all of these options, in order."""
    return [value for _, _, value in _uses(words, names)]


def with_values(
    words: Sequence[str], change: Callable[[str], str | None], *names: str
) -> list[str]:
    """Return the words with other values for all of these options; what becomes None goes."""
    found = list(words)
    for at, name, old in reversed(list(_uses(words, names))):
        is_apart = words[at] == name
        glue = "=" if name.startswith("--") else ""
        new = change(old)
        length = 2 if is_apart and at + 1 < len(words) else 1
        if new is None:
            found[at : at + length] = []
        else:
            found[at : at + length] = [name, new] if is_apart else [f"{name}{glue}{new}"]
    return found


def _uses(words: Sequence[str], names: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield where each of these options stands, its name and its value."""
    for at, (word, following) in enumerate(zip(words, (*words, "")[1:], strict=True)):
        for name in names:
            if word == name:
                yield at, name, following
            elif name.startswith("--") and word.startswith(f"{name}="):
                yield at, name, word.removeprefix(f"{name}=")
            elif not name.startswith("--") and word.startswith(name) and _is_where(word[2:]):
                yield at, name, word[2:]


def _is_where(text: str) -> bool:
    """Whether what stands right behind a letter is its value, and not further letters."""
    return text.isdigit() or bool(listening_address(text))


def listening_address(text: str, folder: str = "/") -> str:
    """Return an address as servers of these kinds take it, as `ip:port` or `unix:/path`.

    `8000`, `:8000`, `localhost:8000`, `tcp://0.0.0.0:8000?backlog=9`, `unix:/run/shop.sock`; empty
    where it says no port.

    Args:
        text: As it is written.
        folder: In which the server runs, where the path of a socket may begin.
    """
    if text.startswith("unix:"):
        path = text.removeprefix("unix:").removeprefix("//").partition("?")[0]
        return unix_address(path if path.startswith("@") else str(PurePosixPath(folder) / path))
    found = _ADDRESS.fullmatch(text)
    if not found:
        return ""
    host = found["host"] or ""
    usual = {"": "0.0.0.0", "localhost": "127.0.0.1", "*": "0.0.0.0"}  # noqa: S104 - as it is read
    return f"{usual.get(host, host)}:{found['port']}"


def is_tls_address(text: str) -> bool:
    """Whether an address says by its scheme that TLS is spoken there."""
    return text.startswith(("ssl://", "https://"))


def with_address(text: str, address: str) -> str:
    """Return an address in the way that another one was written, with its scheme and query."""
    found = _ADDRESS.fullmatch(text)
    if not found or address.startswith("unix:"):
        return address
    return f"{found['scheme'] or ''}{address}{found['rest'] or ''}"
