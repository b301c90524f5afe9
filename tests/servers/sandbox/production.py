"""What others run beside a copy: it listens in every way that programs have, and is restarted."""

import fcntl
import os
import socket
from contextlib import suppress
from pathlib import Path

NAMES = ("abs", "rel", "renamed", "hard", "by-fd", "by-link", "a b\nc", "datagram", "fifo", "lock")


class Production:
    """Sockets, a FIFO and a lock in one folder; nothing may come of a copy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sockets: list[socket.socket] = []
        self._fifo = -1

    def start(self) -> None:
        """Listen; what stood there goes, as at a restart."""
        self.stop()
        folder = self.folder
        for name in (*NAMES, "bound", "other"):
            (folder / name).unlink(missing_ok=True)
        link = folder.with_name(f"{folder.name}-link")
        if not link.is_symlink():
            link.symlink_to(folder)
        self._listen(str(folder / "abs"))
        here = Path.cwd()
        os.chdir(folder)
        self._listen("rel")
        os.chdir(here)
        self._listen(str(folder / "bound"))
        (folder / "bound").rename(folder / "renamed")
        self._listen(str(folder / "other"))
        os.link(folder / "other", folder / "hard")
        handle = os.open(folder, os.O_PATH)
        self._listen(f"/proc/self/fd/{handle}/by-fd")
        os.close(handle)
        self._listen(str(link / "by-link"))
        self._listen(str(folder / "a b\nc"))
        self._listen(str(folder / "datagram"), socket.SOCK_DGRAM)
        os.mkfifo(folder / "fifo")
        self._fifo = os.open(folder / "fifo", os.O_RDWR | os.O_NONBLOCK)
        (folder / "lock").touch()

    def stop(self) -> None:
        """Listen no more; the files stay."""
        for each in self._sockets:
            each.close()
        self._sockets = []
        if self._fifo >= 0:
            os.close(self._fifo)
            self._fifo = -1

    def received(self) -> list[str]:
        """Return what reached it."""
        found = []
        for each in self._sockets:
            with suppress(BlockingIOError):
                each.recv(1) if each.type == socket.SOCK_DGRAM else each.accept()
                found.append(str(each.getsockname()))
        with suppress(BlockingIOError):
            found.append(os.read(self._fifo, 99).decode())
        with (self.folder / "lock").open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                found.append(f"{file.name} is locked")
        return found

    def _listen(self, path: str, kind: int = socket.SOCK_STREAM) -> None:
        made = socket.socket(socket.AF_UNIX, kind)
        made.bind(path)
        # A copy has its own user: that must not be what keeps it out.
        Path(path).chmod(0o777)
        if kind == socket.SOCK_STREAM:
            made.listen()
        made.setblocking(False)
        self._sockets.append(made)
