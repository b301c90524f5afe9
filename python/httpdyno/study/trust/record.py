"""Which studies of others this user trusts, by what they held then."""

import json
import os
import shutil
import tempfile
from pathlib import Path

from httpdyno.errors import StoreError
from httpdyno.host.foreign_text import reason
from httpdyno.host.own_files import HeldError, data_folder, locked, opened_own
from httpdyno.study.trust.held import Held
from httpdyno.study.trust.owner import doubt_of

_FOLDER = "trusted"
_RECORD = "studies.json"
_PATIENCE_S = 10.0
_MOST_BYTES = 1 << 20


def home() -> Path:
    """Return the folder of copies and of the record, made if need be.

    Raises:
        StoreError: Others may write there, or it cannot be made.
    """
    folder = data_folder() / _FOLDER
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        real = folder.resolve()
        if doubt := doubt_of(real):
            raise StoreError(
                f"what is trusted cannot be kept in `{folder}`",
                hint="set `HTTPDYNO_DATA_DIR` to a folder that is yours alone",
                why=[doubt],
            )
    except OSError as error:
        raise StoreError(f"`{folder}` cannot be used: {reason(error)}") from error
    return real


def trusted_digest(file: Path) -> str:
    """Return what the study file's folder held when it was last trusted; empty where it was not.

    Raises:
        StoreError: The record cannot be read.
    """
    return _read(home() / _RECORD).get(str(file), "")


def trust(file: Path, digest: str) -> None:
    """Remember that what a study file's folder holds is trusted.

    Raises:
        StoreError: The record cannot be written.
    """
    folder = home()
    try:
        with locked(folder / "lock", patience_s=_PATIENCE_S):
            known = {**_read(folder / _RECORD), str(file): digest}
            handle, name = tempfile.mkstemp(dir=folder)  # 0600
            with os.fdopen(handle, "w", encoding="utf-8") as record:
                json.dump(known, record, indent=1)
            Path(name).replace(folder / _RECORD)
    except (OSError, HeldError) as error:
        words = reason(error) if isinstance(error, OSError) else str(error)
        raise StoreError(f"`{folder / _RECORD}` cannot be written: {words}") from error


def let_go(copy: Held) -> None:
    """Remove a copy that was made for a question whose answer is no.

    One that was there before stays: a run under way may be of it, or a stored one.

    Raises:
        StoreError: The record cannot be read.
    """
    if not copy.is_new:
        return
    folder = home()
    try:
        with locked(folder / "lock", patience_s=_PATIENCE_S):
            if copy.digest not in _read(folder / _RECORD).values():
                shutil.rmtree(copy.folder, ignore_errors=True)
    except (OSError, HeldError):  # it stays, for the next time
        return


def _read(file: Path) -> dict[str, str]:
    try:
        with os.fdopen(opened_own(file, os.O_RDONLY), encoding="utf-8") as record:
            known = json.loads(record.read(_MOST_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise StoreError(
            f"`{file}` cannot be read: "
            + (reason(error) if isinstance(error, OSError) else "it is no JSON"),
            hint="remove it, and trust each study anew",
        ) from error
    return {str(path): str(digest) for path, digest in known.items()}
