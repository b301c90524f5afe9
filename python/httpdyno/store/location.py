"""Where the database is: the user's data folder, or what someone gave instead."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from httpdyno.errors import StoreError

FILE_NAME = "httpdyno.db"
_SQLITE = "sqlite:///"
_POSTGRESQL = ("postgresql", "postgresql+psycopg")


@dataclass(frozen=True, slots=True)
class Location:
    """A database: an SQLite file, or a server's URL."""

    file: Path | None
    url: str
    """Empty for a file, whose name may hold anything."""

    @property
    def name(self) -> str:
        """How messages name it: the path, or the URL without its password."""
        if self.file is not None:
            return str(self.file)
        parts = urlsplit(self.url)
        user, at, host = parts.netloc.rpartition("@")
        return f"postgresql://{user.partition(':')[0]}{at}{host}{parts.path}"


def data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of what httpdyno keeps: `$HTTPDYNO_DATA_DIR`, else the XDG one."""
    if own := environment.get("HTTPDYNO_DATA_DIR"):
        return Path(own).absolute()
    if shared := environment.get("XDG_DATA_HOME"):
        return Path(shared) / "httpdyno"
    return Path("~/.local/share/httpdyno").expanduser()


def store_location(
    given: str | None = None, environment: Mapping[str, str] = os.environ
) -> Location:
    """Return where the store is: as given, as `$HTTPDYNO_STORE` says, or in the data folder.

    Raises:
        StoreError: That is no database that runs can be stored in.
    """
    text = given or environment.get("HTTPDYNO_STORE")
    if not text:
        return Location(file=data_folder(environment) / FILE_NAME, url="")
    if "://" not in text or text.startswith(_SQLITE):
        path = text.removeprefix(_SQLITE)
        if path in {"", ":memory:"}:
            raise StoreError(f"`{text}` names no file", hint="Give a file that runs are kept in.")
        return Location(file=Path(path).expanduser().absolute(), url="")
    scheme, _, rest = text.partition("://")
    location = Location(file=None, url=f"postgresql+psycopg://{rest}")
    if scheme not in _POSTGRESQL:
        raise StoreError(
            f"runs cannot be stored in a database of kind `{scheme}`",
            hint="Give a file, or `postgresql://USER@HOST/DATABASE`.",
        )
    return location
