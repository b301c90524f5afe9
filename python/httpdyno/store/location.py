"""Where the database is: the user's data folder, or a URL that someone gave."""

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from httpdyno.errors import StoreError

FILE_NAME = "httpdyno.db"
_SCHEMES = ("sqlite", "postgresql", "postgresql+psycopg")


def data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of what httpdyno keeps: `$HTTPDYNO_DATA_DIR`, else the XDG one."""
    if own := environment.get("HTTPDYNO_DATA_DIR"):
        return Path(own)
    if shared := environment.get("XDG_DATA_HOME"):
        return Path(shared) / "httpdyno"
    return Path("~/.local/share/httpdyno").expanduser()


def store_url(given: str | None = None, environment: Mapping[str, str] = os.environ) -> str:
    """Return the database's URL, from what was given, `$HTTPDYNO_STORE` or the data folder.

    Text without `://` is the path of an SQLite file.

    Raises:
        StoreError: A database that this program cannot keep runs in.
    """
    text = given or environment.get("HTTPDYNO_STORE") or str(data_folder(environment) / FILE_NAME)
    if "://" not in text:
        return f"sqlite:///{Path(text).expanduser().absolute()}"
    parts = urlsplit(text)
    if parts.scheme not in _SCHEMES:
        raise StoreError(
            f"`{shown(text)}` is not a database that runs can be stored in",
            hint="Give a file, `sqlite:///FILE` or `postgresql://USER@HOST/DATABASE`.",
        )
    if parts.scheme == "sqlite" and parts.path in {"", "/", "/:memory:"}:
        raise StoreError(f"`{text}` names no file", hint="Give `sqlite:///FILE`.")
    if parts.scheme == "postgresql":
        parts = parts._replace(scheme="postgresql+psycopg")
    return urlunsplit(parts) if parts.netloc or parts.scheme != "sqlite" else text


def sqlite_file(url: str) -> Path | None:
    """Return the file of an SQLite URL; None for another database."""
    prefix = "sqlite:///"
    return Path(url.removeprefix(prefix).partition("?")[0]) if url.startswith(prefix) else None


def shown(url: str) -> str:
    """Return how messages name the database: its path, or its URL without the password."""
    if file := sqlite_file(url):
        return str(file)
    parts = urlsplit(url)
    name, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=name.partition(":")[0] + at + host))
