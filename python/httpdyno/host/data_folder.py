"""The user's folder of what httpdyno keeps."""

import os
from collections.abc import Mapping
from pathlib import Path

from httpdyno.errors import StoreError


def data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of what httpdyno keeps: `$HTTPDYNO_DATA_DIR`, else the XDG one."""
    if own := environment.get("HTTPDYNO_DATA_DIR"):
        return Path(own).absolute()
    if shared := environment.get("XDG_DATA_HOME"):
        return Path(shared) / "httpdyno"
    return expanded("~/.local/share/httpdyno")


def expanded(path: str) -> Path:
    """Return the path with a home folder in the place of `~`.

    Raises:
        StoreError: There is no such home folder.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise StoreError(
            f"`{path}` cannot be found: there is no such home folder",
            hint="Set `HTTPDYNO_DATA_DIR` to a folder.",
        ) from error
