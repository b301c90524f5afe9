"""Which Python runs a person's own server, and what it gets of this one's environment: nothing."""

import os
import sys
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.model import ServerSpec
from httpdyno.servers.staging import clean_environment


def python_of(spec: ServerSpec, study_folder: Path) -> str:
    """Return the path of the interpreter that `[server.settings] python` names.

    A relative one is looked for in the server's folder, then in the study's. Links are not
    followed: it is by its own path that an interpreter knows its virtual environment.
    """
    named = spec.settings.get("python")
    if not isinstance(named, str):
        return sys.executable
    study = study_folder.absolute()
    for folder in (study / spec.folder, study):
        path = os.path.normpath(folder / named)
        if os.access(path, os.X_OK):
            return path
    return os.path.normpath(study / named)


def python_environment(python: str) -> dict[str, str]:
    """Return a clean environment in which that interpreter's own programs are found first."""
    environment = clean_environment()
    here = str(Path(sys.executable).parent)
    own = str(Path(python).parent)
    folders = environment["PATH"].split(os.pathsep)
    # A virtual environment that httpdyno was started from is none of theirs.
    kept = [
        each for each in folders if each != own and (each != here or sys.prefix == sys.base_prefix)
    ]
    return {
        **environment,
        "PATH": os.pathsep.join([own, *kept]),
        # What it compiles it would write beside the sources, and into its virtual environment.
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def check_python(python: str) -> None:
    """Look for a study's interpreter.

    Raises:
        AdapterError: There is no such program.
    """
    if not Path(python).is_file() or not os.access(python, os.X_OK):
        raise AdapterError(f"server.settings.python names `{python}`, which is no program")
