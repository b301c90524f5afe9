"""The database: where it is, its folder, connection settings, schema.

It is in the user's data folder, or where someone said instead.

Several processes may open a database that does not exist yet at the same moment. A lock file
beside an SQLite database (an advisory lock in PostgreSQL) lets one of them set it up while the
others wait; the kernel drops the lock of a process that dies.
"""

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError

from httpdyno.errors import StoreError
from httpdyno.host.foreign_text import is_whole_url
from httpdyno.host.own_files import HeldError, data_folder, expanded, locked
from httpdyno.store.schema import HEAD

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


_BESIDE = ("-wal", "-shm", "-journal", ".lock")
"""What SQLite and we keep beside a database; SQLite gives its own the database's mode."""
_FOR_OTHERS = 0o077

BUSY_TIMEOUT_S = 30.0
"""How long to wait while another process writes. A write takes milliseconds; a disk that is
loaded by the server under test can make it seconds."""

_POSTGRESQL_LOCK = 0x68747470
"""The advisory lock's number: `http` in ASCII, the same in every version of this program."""


class Database:
    """A database with the present schema, and its two ways in."""

    def __init__(self, engine: Engine, location: Location) -> None:
        self._engine = engine
        self.name = location.name
        self.is_shared = location.file is None
        """Other hosts can use it too."""
        self._location = location
        self._identity = _identity(location.file)

    @classmethod
    def open(cls, given: str | None = None) -> "Database":
        """Make the folder and the tables where they are missing, and connect.

        Raises:
            StoreError: It cannot be opened, made or written, or a newer version wrote it.
        """
        location = store_location(given)
        with _translated(location):
            engine = _engine(location)
        try:
            with _translated(location), _set_up_alone(location.file):
                _bring_up_to_date(engine, location.name)
                # Only now is it known to be ours; it may have been left open for all to read.
                _tighten_all(location.file)
        except BaseException:
            engine.dispose()
            raise
        return cls(engine, location)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database and changes nothing."""
        self._see_that_it_is_there()
        with _translated(self._location), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that holds the only right to write; committed when the block ends."""
        self._see_that_it_is_there()
        with _translated(self._location), _write_transaction(self._engine) as connection:
            yield connection

    def close(self) -> None:
        """Close every connection; idempotent."""
        self._engine.dispose()

    def _see_that_it_is_there(self) -> None:
        # SQLite writes on into a file that has no name any more, and all of it is lost.
        if _identity(self._location.file) != self._identity:
            raise StoreError(
                f"the store `{self.name}` was deleted or replaced while it was in use",
                hint="What was stored in it is gone with it; begin the run anew.",
            )


def _engine(location: Location) -> Engine:
    if location.file is None:
        return sa.create_engine(location.url)
    _make_private(location.file)
    # Not as a URL in text: in that, a percent sign or a question mark would mean something else.
    url = sa.URL.create("sqlite", database=str(location.file))
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S})
    sa.event.listen(engine, "connect", _configure_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _make_private(file: Path) -> None:
    """Make the file where there is none, and let nobody but its owner read it.

    What was measured is stored with what was sent: cookies, form fields, names of hosts.
    """
    folder = file.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # Never one that is there: closing it would drop the locks that SQLite has on it.
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if not stat.S_ISREG(file.stat().st_mode):
            raise StoreError(
                f"the store `{file}` is not a regular file", hint="Give a file of its own."
            ) from None


def _tighten_all(file: Path | None) -> None:
    if file is None:
        return
    if file.parent == data_folder({**os.environ, "HTTPDYNO_DATA_DIR": ""}):
        _tighten(file.parent)  # a folder that somebody named may be for others too
    for each in (file, *(Path(f"{file}{end}") for end in _BESIDE)):
        with suppress(FileNotFoundError):  # another process's last connection takes some away
            _tighten(each)


def _tighten(path: Path) -> None:
    info = path.stat()
    if info.st_uid == os.geteuid() and info.st_mode & _FOR_OTHERS:
        path.chmod(stat.S_IMODE(info.st_mode) & ~_FOR_OTHERS)


def _identity(file: Path | None) -> tuple[int, int] | None:
    try:
        info = file.stat() if file else None
    except OSError:
        return (0, 0)
    return (info.st_dev, info.st_ino) if info else None


def _configure_sqlite(connection: Any, _record: object) -> None:  # noqa: ANN401 - DB-API's own
    # The driver would begin transactions on its own, and late; `_begin_sqlite` does it instead.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys=ON")
    # In WAL mode, NORMAL outlives any death of this process. A power cut may cost the newest
    # windows, but a sync for each would load the very disk that the server under test writes to.
    connection.execute("PRAGMA synchronous=NORMAL")


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that first reads and then wants to write fails at once if another wrote in
    # between, whatever the timeout: so one that will write takes the right to at its beginning.
    is_writing = connection.get_execution_options().get("httpdyno_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")


@contextmanager
def _write_transaction(engine: Engine) -> Iterator[Connection]:
    connecting = engine.connect().execution_options(httpdyno_writes=True)
    with connecting as connection, connection.begin():
        yield connection


@contextmanager
def _set_up_alone(file: Path | None) -> Iterator[None]:
    """Hold the lock file of an SQLite database.

    Locking inside the database is not enough: while it is switched to WAL mode for the first
    time, SQLite tells others at once that it is locked, whatever their timeout.
    """
    if file is None or _is_current(file):
        yield
        return
    try:
        with locked(Path(f"{file}.lock"), patience_s=BUSY_TIMEOUT_S):
            _switch_to_wal(file)
            yield
    except HeldError as error:
        raise StoreError(
            f"the store `{file}` is being set up by another process: {error}",
            hint="Wait for it, or end it.",
        ) from error


def _is_current(file: Path) -> bool:
    """Tell, without writing, whether there is nothing to set up; False when in doubt."""
    if not file.exists():
        return False
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_S * 1000:.0f}")
        mode = connection.execute("PRAGMA journal_mode").fetchone()
        version = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error:
        return False
    finally:
        connection.close()
    return bool(mode == ("wal",) and version == (HEAD,))


def _switch_to_wal(file: Path) -> None:
    connection = sqlite3.connect(file, timeout=BUSY_TIMEOUT_S)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()


def _bring_up_to_date(engine: Engine, name: str) -> None:
    """Run the migrations that this database has not seen, all in one transaction."""
    with engine.connect() as connection:
        if _version(connection) == HEAD:
            return
    with _write_transaction(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_POSTGRESQL_LOCK)))
        version = _version(connection)
        if version != HEAD:
            _migrate(connection, version, name)


def _version(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    text = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
    return None if text is None else str(text)


def _migrate(connection: Connection, version: str | None, name: str) -> None:
    # Alembic takes a fifth of a second to import, and there is something for it to do only once
    # in the life of a database.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    with resources.as_file(resources.files("httpdyno.store") / "migrations") as folder:
        config = Config()
        # The value goes through interpolation, in which a percent sign is special.
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.set_main_option("path_separator", "os")
        known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        if version is not None and version not in known:
            raise _unknown_schema(name, version)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _unknown_schema(name: str, version: str) -> StoreError:
    kind = "another"
    if version.isascii() and version.isdigit():
        kind = "a newer" if int(version) > int(HEAD) else "an older"
    return StoreError(
        f"the store `{name}` was written by {kind} httpdyno (schema {version[:40]}; this one "
        f"reads and writes {HEAD})",
        hint=f"Use {kind.replace('a newer', 'the newer').replace('an older', 'the older')} "
        "httpdyno, or set `HTTPDYNO_DATA_DIR` to another folder.",
    )


@contextmanager
def _translated(location: Location) -> Iterator[None]:
    """Turn what SQLAlchemy, the drivers and the file system raise into one sentence."""
    name = location.name
    try:
        yield
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise StoreError(
            f"the store `{name}` needs a driver that is not installed: {error}",
            hint="Install it: `pip install 'psycopg[binary]'`.",
        ) from error
    except OSError as error:
        cause = f"`{error.filename}`: {error.strerror}" if error.filename else str(error)
        raise StoreError(
            f"the store `{name}` cannot be opened: {cause}",
            hint="Set `HTTPDYNO_DATA_DIR` to a folder that can be written.",
        ) from error
    except (SQLAlchemyError, sqlite3.Error, ValueError, OverflowError) as error:
        # The driver's own error holds the password too, and would be shown by a traceback.
        raise _explained(location, error) from None


_UNUSABLE: dict[int, Callable[[str], StoreError]] = {
    sqlite3.SQLITE_READONLY: lambda name: StoreError(
        f"the store `{name}` cannot be used: it cannot be written",
        hint="Set `HTTPDYNO_DATA_DIR` to a folder that can be written.",
    ),
    sqlite3.SQLITE_CANTOPEN: lambda name: StoreError(
        f"the store `{name}` cannot be used: it cannot be opened or made",
        hint="Set `HTTPDYNO_DATA_DIR` to a folder that can be written.",
    ),
    sqlite3.SQLITE_FULL: lambda name: StoreError(
        f"the store `{name}` cannot be used: the disk is full",
        hint="Free some space; what is stored is safe.",
    ),
    sqlite3.SQLITE_IOERR: lambda name: StoreError(
        f"the store `{name}` cannot be used: the disk reports an error",
        hint="Set `HTTPDYNO_DATA_DIR` to a folder that can be written.",
    ),
    sqlite3.SQLITE_BUSY: lambda name: StoreError(
        f"the store `{name}` cannot be used: another process has kept it locked for "
        f"{BUSY_TIMEOUT_S:.0f} s",
        hint="Wait for the other `httpdyno`, or end it.",
    ),
    sqlite3.SQLITE_NOTADB: lambda name: StoreError(
        f"the store `{name}` cannot be used: it is not an SQLite database",
        hint="Move the file away.",
    ),
    sqlite3.SQLITE_CORRUPT: lambda name: StoreError(
        f"the store `{name}` cannot be used: it is damaged",
        hint="Move the file away; `sqlite3 FILE .recover` saves the rest.",
    ),
}
"""What SQLite cannot do, by the code of its error: https://sqlite.org/rescode.html."""


def _explained(location: Location, error: Exception) -> StoreError:
    name, error = location.name, getattr(error, "orig", None) or error
    cause = (str(error).strip() or type(error).__name__).splitlines()[0]
    for password in location.passwords:
        cause = cause.replace(password, "…")
    found = _UNUSABLE.get(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF)
    return StoreError(f"the store `{name}` failed: {cause}") if found is None else found(name)
