"""A configuration's files, read from disk once: what each held, whose it was, where it was found.

Who writes a configuration says what is read for it, and the reader may be root. What is the
kernel's is no file of theirs, and there is an end to what is listed and read.
"""

import errno
import os
import posixpath
import stat
from contextlib import suppress

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import Rights, held, names_in, read_file
from httpdyno.host.rights import reading_as
from httpdyno.host.runnable import account
from httpdyno.servers.link import is_kernels

_LARGEST_BYTES = 16 << 20
_MOST_BYTES = 64 << 20
_MOST_FILES = 20_000
_MOST_NAMES = 50_000
"""Of all folders that includes look into."""


class TheirFiles:
    """What was read of one server's configuration."""

    def __init__(self, root: str = "", user: str = "") -> None:
        """Read nothing yet.

        Args:
            root: The folder that is `/` for that server, such as `/proc/PID/root`; empty for ours.
            user: Whose server it is, by name or number; empty is root's, or not known.

        Raises:
            AdapterError: There is no such user.
        """
        self._root = root
        self._user = account(user)[0] if user else 0
        """On whose word files are read: the server's user's, or of who owns the first file."""
        self.texts: dict[str, bytes] = {}
        """Path as the server opens it → content, in the order in which they were read."""
        self.real: dict[str, str] = {}
        """Path → the file that a link there leads to; only where it differs."""
        self.rights: dict[str, Rights] = {}
        self._names: dict[str, list[str]] = {}
        self._n_names = 0
        self._n_bytes = 0

    def content(self, path: str, *, limit_bytes: int = _LARGEST_BYTES) -> bytes:
        """Return what a file holds, as it was when it was first read.

        Raises:
            OSError: It is not there, cannot be read, or is no file of theirs.
            AdapterError: So much was read that this can be no configuration.
        """
        if path not in self.texts:
            with reading_as(self._user):
                found = read_file(f"{self._root}{path}", limit_bytes=limit_bytes)
            real = found.real.removeprefix(self._root)
            if is_kernels(real):
                raise OSError(errno.EINVAL, "it is the kernel's, no file of a configuration", path)
            if not self._is_plain(path, found.real):
                words = f"a `..` in it follows a link; name the file itself, `{real}`"
                raise OSError(errno.EINVAL, words, path)
            self._n_bytes += len(found.content)
            if self._n_bytes > _MOST_BYTES or len(self.texts) >= _MOST_FILES:
                raise AdapterError(
                    f"`{path}` is left out: what was read before it is {len(self.texts):,} files "
                    f"of {self._n_bytes >> 20:,} MiB, expected a configuration",
                    hint=f"At most {_MOST_FILES:,} files and {_MOST_BYTES >> 20} MiB are read.",
                )
            if not self.texts and not self._user and found.rights.user_id is not None:
                self._user = found.rights.user_id
            self.texts[path] = found.content
            self.rights[path] = found.rights
            if real != path:
                self.real[path] = real
        return self.texts[path]

    def _is_plain(self, path: str, real: str) -> bool:
        """Whether a path leads to the same file where each `..` takes the name before it away.

        Copies and snapshots have files by such paths: two files must not have the same one.
        """
        if ".." not in path.split("/"):
            return True
        with suppress(OSError), held(f"{self._root}{posixpath.normpath(path)}") as found:
            return found.real == real
        return False

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; empty where it is none, or the kernel's.

        Raises:
            AdapterError: So much was listed that these can be no folders of a configuration.
        """
        if folder in self._names:
            return self._names[folder]
        with reading_as(self._user):
            is_folder = self.is_folder(folder)
            found = names_in(f"{self._root}{folder}") if is_folder else []
        self._names[folder] = found
        self._n_names += len(found)
        if self._n_names > _MOST_NAMES:
            raise AdapterError(
                f"the includes of this configuration look at more than {_MOST_NAMES:,} files, "
                f"the last of them in `{folder}`",
                hint="Name the folder of the configuration alone.",
            )
        return found

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder that can hold files of theirs."""
        with suppress(OSError), held(f"{self._root}{path}") as found:
            is_folder = stat.S_ISDIR(found.info().st_mode)
            return is_folder and not is_kernels(f"{found.real}/")
        return False

    def is_there(self, path: str) -> bool:
        """Whether there is anything."""
        return os.path.lexists(f"{self._root}{path}")
