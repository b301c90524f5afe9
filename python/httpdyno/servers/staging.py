"""What stands in the run folder before the server starts: files, templates, test data."""

import os
import pwd
import shutil
from pathlib import Path, PurePosixPath

from httpdyno.errors import AdapterError
from httpdyno.model import ServerSpec
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.render import Variables, inside, render_text, rendered_templates

_PREPARE_S = 30.0
INHERITED = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TZ")
"""What servers get of httpdyno's own environment. No more, so that a shell variable such as
GUNICORN_CMD_ARGS cannot change what is measured."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def environment(spec: ServerSpec, variables: Variables, place: Place) -> dict[str, str]:
    """Return the server's environment: a small clean one and the study's, rendered."""
    temporary = place.folder / "tmp"
    temporary.mkdir(exist_ok=True)
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    own = {
        name: render_text(value, variables, source=f"environment.{name}")
        for name, value in spec.environment.items()
    }
    return {
        "PATH": _PATH,
        **inherited,
        "HOME": str(place.folder),
        "TMPDIR": str(temporary),
        **own,
    }


def stage(
    spec: ServerSpec,
    study_folder: Path,
    place: Place,
    variables: Variables,
    *,
    extra: dict[str, str],
) -> NotRunning | None:
    """Copy the study's files, write its templates and `extra`, and run its `prepare` command.

    Args:
        spec: The target.
        study_folder: What relative sources are relative to.
        place: Where everything goes.
        variables: For the templates.
        extra: The adapter's own files: name relative to the run folder → text.

    Returns:
        The refusal of the `prepare` command where it fails: that may be the configuration's doing,
        because the command may use knobs. None where all is well.

    Raises:
        AdapterError: A file is missing or leads out of the place.
    """
    for source, to in spec.files:
        _copy(study_folder / source, inside(to, variables), name=source)
    written = rendered_templates(spec, study_folder, variables)
    written.update((PurePosixPath(place.folder / name), text) for name, text in extra.items())
    for target, text in written.items():
        path = Path(target)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise AdapterError(f"`{path}` cannot be written: {error.strerror}") from error
    return _prepare(spec, place, variables) if spec.prepare else None


def hand_over(place: Place, user: str) -> None:
    """Give both folders of the place to the user that the server answers requests as."""
    if os.geteuid() != 0:
        return
    entry = pwd.getpwnam(user)
    for home in (place.folder, place.memory_folder):
        os.chown(home, entry.pw_uid, entry.pw_gid)
        for folder, folders, files in os.walk(home):
            for name in (*folders, *files):
                # Never through a link: what it leads to is not ours to give away.
                os.chown(Path(folder) / name, entry.pw_uid, entry.pw_gid, follow_symlinks=False)


def _copy(source: Path, target: PurePosixPath, *, name: str) -> None:
    to = Path(target)
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, to, dirs_exist_ok=True)
        else:
            shutil.copy2(source, to / source.name if to.is_dir() else to)
    except (OSError, shutil.Error) as error:
        raise AdapterError(
            f"`{name}` of the study cannot be copied: {error}",
            hint=f"It is looked for at `{source}`.",
        ) from error


def _prepare(spec: ServerSpec, place: Place, variables: Variables) -> NotRunning | None:
    command = [render_text(part, variables, source="prepare") for part in spec.prepare]
    process = ServerProcess.spawn(
        command,
        place=place,
        environment=environment(spec, variables, place),
        log=place.folder / "prepare.log",
    )
    try:
        if not process.wait(_PREPARE_S):
            how = f"did not end within {_PREPARE_S:.0f} s"
        elif process.exit_code != 0:
            how = f"ended with {process.exit_code}: {last_lines(process.last_words())}"
        else:
            return None
    finally:
        process.stop()
    return NotRunning(status="refused", detail=f"`{' '.join(command)}` {how}")


def last_lines(text: str, *, n_lines: int = 5) -> str:
    """Return the last lines that say something, each cut to a readable length."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "\n".join(line[:300] for line in lines[-n_lines:])
