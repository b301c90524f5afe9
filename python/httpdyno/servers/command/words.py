"""Options of command lines, as words. Pure."""

from collections.abc import Sequence

from httpdyno.servers.address import unix_address


def option(words: Sequence[str], *names: str) -> str:
    """Return the value of the last of these options: `-p 80`, `--port 80`, `--port=80`."""
    found = ""
    for word, following in zip(words, (*words, "")[1:], strict=True):
        for name in names:
            if word == name:
                found = following
            elif name.startswith("--") and word.startswith(f"{name}="):
                found = word.removeprefix(f"{name}=")
            elif not name.startswith("--") and word.startswith(name) and word[2:].isdigit():
                found = word[2:]
    return found


def listening_address(text: str) -> str:
    """Return an address as servers of these kinds take it, as `ip:port` or `unix:/path`.

    `8000`, `:8000`, `localhost:8000`, `unix:/run/shop.sock`; empty where it says no port.
    """
    if text.startswith("unix:"):
        return unix_address(text.removeprefix("unix:").removeprefix("//"))
    host, colon, port = text.rpartition(":")
    if not colon and not text.isdigit():
        return ""
    if not port.isdigit():
        return ""
    usual = {"": "0.0.0.0", "localhost": "127.0.0.1", "*": "0.0.0.0"}  # noqa: S104 - as it is read
    return f"{usual.get(host, host)}:{port}"
