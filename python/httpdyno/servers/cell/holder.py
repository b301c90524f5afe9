"""The program that makes a cell and holds it: its namespaces end with it and its last server.

A keeper runs it in the process that it forked, so with the standard library only. It does the steps
in a file, says `made` and what could not be had, or `no` and why, to a FIFO, and waits for its end.
"""

import os
import select
from _collections_abc import Callable

from httpdyno.servers.cell import mount, network
from httpdyno.servers.cell.step import Step, unpacked

NAMESPACES = mount.CLONE_NEWNS | mount.CLONE_NEWNET | mount.CLONE_NEWIPC
_EMPTY = "/dev/null"


class _Maker:
    def __init__(self, options: str) -> None:
        self._options = options
        self._held: dict[str, int] = {}
        self._gone: set[str] = set()
        self._kept: list[str] = []
        self.notices: list[str] = []

    def make(self, steps: list[Step]) -> None:
        """Go into namespaces of its own and do the steps there."""
        on_host = network.settings()
        mount.unshare(NAMESPACES)
        mount.keep_private()
        network.open_loopback()
        self.notices += [f"kernel setting {each} of the host" for each in network.adopt(on_host)]
        network.put(network.PORT_START, "0")
        verbs: dict[str, Callable[..., None]] = {
            "keep": self._keep,
            "hold": self._hold,
            "seek": self._seek,
            "freeze": self._freeze,
            "overlay": self._overlay,
            "bind": self._bind,
            "attempt": self._attempt,
            "mask": self._mask,
            "unlink": self._unlink,
            "sysctl": self._sysctl,
            "forbid": self._forbid,
        }
        for verb, *fields in steps:
            if not self._gone.intersection(fields):
                verbs[verb](*fields)
        for handle in self._held.values():
            os.close(handle)

    def _keep(self, path: str) -> None:
        mount.bind(path, path, is_read_only=False)
        self._kept.append(path)

    def _hold(self, name: str, path: str) -> None:
        self._held[name] = os.open(path, os.O_PATH | os.O_CLOEXEC)

    def _seek(self, name: str, path: str) -> None:
        try:
            self._hold(name, path)
        except FileNotFoundError:
            self._gone.add(f"@{name}")

    def _freeze(self) -> None:
        self.notices += [f"read-only {each}" for each in mount.freeze(self._kept)]

    def _overlay(self, target: str, upper: str, work: str, *lowers: str) -> None:
        # A path by descriptor needs none of the characters that options give a meaning.
        paths = [self._path(lower) for lower in lowers]
        mount.overlay(target, paths, self._path(upper), self._path(work), options=self._options)

    def _attempt(self, target: str, upper: str, work: str, *lowers: str) -> None:
        """Cover what perhaps can be in no overlay; what cannot is not seen."""
        try:
            self._overlay(target, upper, work, *lowers)
        except OSError as error:
            self._bind(upper, target)
            self.notices.append(f"not seen: {target} ({error.strerror})")

    def _bind(self, source: str, target: str) -> None:
        mount.bind(self._path(source), target, is_read_only=False)

    def _mask(self, target: str) -> None:
        if os.path.lexists(target):
            mount.bind(_EMPTY, target, is_read_only=True)

    def _unlink(self, path: str) -> None:
        try:
            os.unlink(path)  # noqa: PTH108 - pathlib takes longer to import
        except FileNotFoundError:
            pass
        except OSError:  # what is mounted there, or kept from us, can still be covered
            self._mask(path)

    def _sysctl(self, name: str, value: str) -> None:
        try:
            network.put(name, value)
        except OSError as error:
            what = f"set {name} to {value}"
            raise OSError(error.errno, error.strerror, what) from error

    def _forbid(self) -> None:
        self.notices += [f"read-only {each}" for each in mount.freeze_kernel()]

    def _path(self, source: str) -> str:
        if not source.startswith("@"):
            return source
        return f"/proc/self/fd/{self._held[source[1:]]}"


def main(steps: str, answer: str, options: str) -> int:
    """Make a cell and hold it; return the exit code where it cannot be made."""
    said = os.open(answer, os.O_WRONLY)
    maker = _Maker(options)
    try:
        with open(steps, "rb") as file:  # noqa: PTH123
            content = file.read()
        maker.make(unpacked(content))
        os.chdir("/")
    except OSError as error:
        what = error.filename or "be made"
        os.write(said, f"no\0cannot {what}: {error.strerror}".encode(errors="replace"))
        return 1
    os.write(said, "\0".join(["made", *maker.notices]).encode())
    os.close(said)
    while True:
        select.select([], [], [])
