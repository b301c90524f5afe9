"""Where studies are: the bundled ones by name, others by path."""

from difflib import get_close_matches
from pathlib import Path

import httpdyno
from httpdyno.errors import StudyFileError
from httpdyno.model import Study
from httpdyno.model.study_file import load_study
from httpdyno.registry import load_adapter

STUDY_FILE = "study.toml"


def bundled_studies() -> dict[str, Path]:
    """Return the study files that come with httpdyno, by name, sorted."""
    folder = Path(httpdyno.__file__).parent / "studies"
    return {file.parent.name: file for file in sorted(folder.glob(f"*/{STUDY_FILE}"))}


def open_study(name_or_path: str) -> Study:
    """Return a study by its bundled name, its file, or its folder.

    Raises:
        StudyFileError: There is none, or it is wrong.
    """
    return load_study(study_path(name_or_path), lambda name: load_adapter(name).knobs())


def study_path(name_or_path: str) -> Path:
    """Return the study's file; a bundled name wins over a folder of the same name.

    Raises:
        StudyFileError: Neither a bundled study nor a file.
    """
    bundled = bundled_studies()
    if name_or_path in bundled:
        return bundled[name_or_path]
    path = Path(name_or_path).expanduser()
    file = path / STUDY_FILE if path.is_dir() else path
    if file.is_file():
        return file
    if path.is_dir():
        raise StudyFileError(f"the folder `{name_or_path}` holds no {STUDY_FILE}")
    close = get_close_matches(name_or_path, bundled, n=1)
    hint = (
        f"did you mean `{close[0]}`?" if close else "`httpdyno study list` shows the bundled ones"
    )
    raise StudyFileError(f"`{name_or_path}` is neither a bundled study nor a file", hint=hint)
