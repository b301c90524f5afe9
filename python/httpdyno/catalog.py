"""Where studies are: the bundled ones by name, others by path."""

from difflib import get_close_matches
from pathlib import Path

import httpdyno
from httpdyno.errors import StudyFileError, UsageError
from httpdyno.host.foreign_files import is_there
from httpdyno.host.foreign_text import is_whole_url
from httpdyno.host.only_read import only_reading
from httpdyno.load.check import check_workload
from httpdyno.model import Study
from httpdyno.registry import load_adapter, site_knob_infos
from httpdyno.study.file import load_study

STUDY_FILE = "study.toml"
_URL_HINT = (
    "`httpdyno adopt :8080` makes a study of a server of this machine; of others, `httpdyno load` "
    "and `httpdyno compare --url` take URLs"
)


def bundled_studies() -> dict[str, Path]:
    """Return the study files that come with httpdyno, by name, sorted."""
    folder = Path(httpdyno.__file__).parent / "studies"
    return {file.parent.name: file for file in sorted(folder.glob(f"*/{STUDY_FILE}"))}


def open_study(name_or_path: str) -> Study:
    """Return a study by its bundled name, its file, or its folder; nothing of it is run.

    Raises:
        StudyFileError: There is none, or it is wrong.
    """
    file = study_path(name_or_path)
    with only_reading():
        study = load_study(file, lambda name: load_adapter(name).knobs(), site_knob_infos)
    try:
        check_workload(study.workload)
    except UsageError as error:
        raise StudyFileError(f"`{file}`: the workload: {error}", hint=error.hint) from error
    return study


def study_path(name_or_path: str) -> Path:
    """Return the study's file; a bundled name wins over a folder of the same name.

    Raises:
        StudyFileError: Neither a bundled study nor a file.
    """
    bundled = bundled_studies()
    if name_or_path in bundled:
        return bundled[name_or_path]
    path = _expanded(name_or_path)
    is_folder = is_there(path) and path.is_dir()
    file = path / STUDY_FILE if is_folder else path
    if is_there(file):
        return file
    if is_folder:
        raise StudyFileError(
            f"the folder `{name_or_path}` holds no {STUDY_FILE}",
            hint="name a folder that `httpdyno adopt` or `httpdyno study new` wrote",
        )
    close = get_close_matches(name_or_path, bundled, n=1)
    raise StudyFileError(
        f"`{name_or_path}` is neither a bundled study nor a file",
        hint=_URL_HINT
        if is_whole_url(name_or_path)
        else f"did you mean `{close[0]}`?"
        if close
        else "`httpdyno study list` shows the bundled ones",
    )


def _expanded(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:  # `~` of nobody
        return Path(text)
