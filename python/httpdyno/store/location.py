"""Where the database is: the user's data folder, or what someone gave instead."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote

from httpdyno.errors import StoreError
from httpdyno.host.foreign_text import is_whole_url
from httpdyno.host.own_files import data_folder, expanded

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
        # The last `@`: one in a password, or a `/`, must not make part of it pass for the host.
        user, at, host = _without_query(self.url).rpartition("@")
        return f"postgresql://{user.partition(':')[0]}{at}{host}"

    @property
    def passwords(self) -> tuple[str, ...]:
        """What no message may hold, as it is written in the URL and as it is meant."""
        written = _without_query(self.url).rpartition("@")[0].partition(":")[2]
        asked = parse_qs(self.url.partition("?")[2]).get("password", [])
        found = {written, unquote(written), *asked}
        # Drivers that take a URL apart wrongly speak of a piece of it.
        pieces = {piece for each in found for piece in each.replace("@", "/").split("/")}
        return tuple(sorted((found | pieces) - {""}, key=len, reverse=True))


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
    if not is_whole_url(text) or text.startswith(_SQLITE):
        path = text.removeprefix(_SQLITE)
        if path in {"", ":memory:"}:
            raise StoreError(f"`{text}` names no file", hint="Give a file that runs are kept in.")
        return Location(file=expanded(path).absolute(), url="")
    scheme, _, rest = text.partition("://")
    if scheme not in _POSTGRESQL:
        raise StoreError(
            f"runs cannot be stored in a database of kind `{scheme}`",
            hint="Give a file, or `postgresql://USER@HOST/DATABASE`.",
        )
    location = Location(file=None, url=f"postgresql+psycopg://{rest}")
    if any(each in location.passwords[0] for each in "/@" if location.passwords):
        raise StoreError(
            f"the password for the store `{location.name}` holds a `/` or an `@`",
            hint="Write `/` as `%2F` and `@` as `%40` in it.",
        )
    return location


def _without_query(url: str) -> str:
    """Return the URL without its scheme and query."""
    return url.partition("://")[2].partition("?")[0]
