"""`php.ini` and the folder of further ini files: what they set, and where. Pure.

Of a setting that comes again the last one counts, over all files: `php.ini` first, then those of
the folder by name. What stands below `[PATH=…]` or `[HOST=…]` counts only there, and is left out.
"""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from httpdyno.servers.php_fpm.configuration import Setting
from httpdyno.servers.php_fpm.ini import Entry, Section, parsed

_SOMEWHERE = ("path=", "host=")


@dataclass(frozen=True, kw_only=True, slots=True)
class IniConfiguration:
    """All settings of the ini files that hold for the whole server, in their order."""

    main: str
    """`php.ini`; empty where there is none."""
    folder: str
    """Where further files are read; empty where none are."""
    settings: tuple[Setting, ...]
    files: tuple[str, ...]
    """Those of the folder that are read, in their order."""

    def last(self, name: str) -> Setting | None:
        """Return the setting of that name that counts; None where nothing sets it."""
        found = [s for s in self.settings if s.entry.name == name and s.entry.index is None]
        return found[-1] if found else None


def ini_configuration(texts: Mapping[str, bytes], main: str, folder: str) -> IniConfiguration:
    """Return what PHP reads of its ini files.

    Args:
        texts: Path → content, of all files.
        main: `php.ini`; empty for none.
        folder: Where files ending in `.ini` are read too; empty for none.

    Raises:
        AdapterError: A line is not understood; says file and line.
    """
    files = tuple(
        sorted(p for p in texts if folder and posixpath.dirname(p) == folder and p.endswith(".ini"))
    )
    settings: list[Setting] = []
    for file in (*([main] if main in texts else []), *files):
        is_everywhere = True
        for item in parsed(texts[file], file=file, by_line=False):
            if isinstance(item, Section):
                is_everywhere = not item.name.lower().startswith(_SOMEWHERE)
            elif is_everywhere and isinstance(item, Entry):
                settings.append(Setting(file=file, section="", entry=item))
    return IniConfiguration(main=main, folder=folder, settings=tuple(settings), files=files)
