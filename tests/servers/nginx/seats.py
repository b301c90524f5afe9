"""Seats for tests: what an adapter is told of where its copy sits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from httpdyno.servers.site.adapter import Said


@dataclass(frozen=True, kw_only=True)
class OpenSeat:
    """Sees all that is there: files lie below a folder, addresses become ports of loopback."""

    folder: Path
    ports: dict[str, str]
    """Address of theirs → `ip:port`; others are not the copy's."""
    is_root: bool = True
    kind: str = "open"

    @property
    def memory_folder(self) -> Path:
        return self.folder

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: str = "/",
        timeout_s: float = 10.0,
    ) -> Said:
        raise AssertionError("nothing is run here")

    def port(self, address: str) -> str:
        return self.ports.get(address, address)

    def path(self, path: str) -> str:
        return f"{self.folder}{path}"


def wildcards_alike(addresses: Iterable[str], numbers: Iterator[int]) -> dict[str, str]:
    """Map each port of `0.0.0.0` and `[::]` to one of loopback, each other address to its own."""
    found: dict[str, str] = {}
    for address in addresses:
        host, _, port = address.rpartition(":")
        key = f"any:{port}" if host in {"0.0.0.0", "[::]"} else address
        if key not in found:
            found[key] = f"127.0.0.1:{next(numbers)}"
        found[address] = found[key]
    return found
