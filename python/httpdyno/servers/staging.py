"""What stands in the run folder before the server starts: files, templates, test data."""

import os
import pwd
import re
import shutil
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import opened_regular
from httpdyno.model import ServerSpec, SideCommand
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.network.probe import Patience
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.render import (
    Variables,
    diff_name,
    inside,
    render_argument,
    rendered_commands,
    rendered_environment,
    rendered_templates,
)
from httpdyno.servers.sandbox.user_namespace import acting_user

_PREPARE_S = 20.0
"""As long as a server may take to come up."""
_TEMPORARY = "tmp"
_NUMBER = re.compile(r"\d+")
INHERITED = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TZ")
"""What servers get of httpdyno's own environment. No more, so that a shell variable such as
GUNICORN_CMD_ARGS cannot change what is measured."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def environment(
    spec: ServerSpec,
    variables: Variables,
    place: Place,
    adapters: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the server's environment: a small clean one, the adapter's, and the study's."""
    temporary = place.folder / _TEMPORARY
    _make_writable(temporary)
    # A folder of theirs stays as it is: Python would write what it compiles beside the sources.
    in_place = {"PYTHONDONTWRITEBYTECODE": "1"} if spec.folder else {}
    return {
        **clean_environment(),
        "HOME": str(place.folder),
        "TMPDIR": str(temporary),
        **in_place,
        **(adapters or {}),
        **passed_environment(spec),
        **rendered_environment(spec, variables),
    }


def acting_user_name() -> str:
    """Return the name of who runs httpdyno."""
    try:
        return pwd.getpwuid(acting_user()).pw_name
    except KeyError:
        return str(acting_user())


def passed_environment(spec: ServerSpec) -> dict[str, str]:
    """Return the variables that are handed on, which stand nowhere else.

    Raises:
        AdapterError: One is not set.
    """
    if unset := [name for name in spec.pass_environment if name not in os.environ]:
        raise AdapterError(
            f"the server gets {', '.join(f'`{name}`' for name in unset)} from the environment of "
            "httpdyno, where it is not set",
            hint=f"Set it: `export {unset[0]}=…`.",
        )
    return {name: os.environ[name] for name in spec.pass_environment}


def clean_environment() -> dict[str, str]:
    """Return what servers get of httpdyno's own environment."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {"PATH": _PATH, **inherited}


def stage(
    spec: ServerSpec,
    study_folder: Path,
    place: Place,
    variables: Variables,
    *,
    extra: Mapping[str, str],
) -> NotRunning | None:
    """Put everything into the place, and run the study's `prepare` command there.

    That is the study's files, its templates, `extra`, and the folders that the server writes in.

    Args:
        spec: The target.
        study_folder: What relative sources are relative to.
        place: Where everything goes.
        variables: For the templates.
        extra: The adapter's own files: name relative to the run folder → text.

    Returns:
        What the `prepare` command says where it fails or hangs: that may be the configuration's
        doing, because the command may use knobs. None where all is well.

    Raises:
        AdapterError: A file is missing or leads out of the place.
    """
    for entry in spec.files:
        source, target = study_folder / entry.source, inside(entry.to, variables)
        _copy(source, target, name=entry.source, left_out=entry.exclude)
    written = rendered_templates(spec, study_folder, variables)
    written.update((PurePosixPath(place.folder / name), text) for name, text in extra.items())
    for target, text in written.items():
        path = Path(target)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise AdapterError(f"`{path}` cannot be written: {error.strerror}") from error
    for folder in writable_folders(spec, variables, written):
        _make_writable(Path(folder))
    return _prepare(spec, place, variables)


def hand_over(place: Place, user: str, writable: Iterable[PurePosixPath]) -> None:
    """Let the server's user read the place, and write in its `writable` folders and in `tmp`.

    All else stays root's, and so do the folders that it is in: the server's user can neither
    change nor replace what root reads. Until the very end nobody but root can enter the place, so
    there is nobody to race with. Nothing happens where the server answers as ourselves.
    """
    if acting_user() != 0:
        return
    entry = pwd.getpwnam(user)
    homes = (place.folder, place.memory_folder)
    for home in homes:
        home.chmod(0o700)
        _set_tree(home, 0, entry.pw_gid)
    for folder in writable:
        _set_tree(Path(folder), entry.pw_uid, entry.pw_gid)
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        Path(folder).chmod(0o700)
    # As /tmp is: its user may make files, but not rename or remove those that root made.
    (place.folder / _TEMPORARY).chmod(0o1770)
    for home in homes:
        os.chown(home, 0, entry.pw_gid)
        home.chmod(0o750)


def _set_tree(home: Path, owner: int, group: int) -> None:
    """Set who owns what is below a folder: the owner may do what he may, his group read it."""
    for folder, folders, files in os.walk(home):
        for name in (*folders, *files):
            path = Path(folder) / name
            # Never through a link: what it leads to is not ours to give away.
            os.chown(path, owner, group, follow_symlinks=False)
            if not path.is_symlink():
                own = path.stat().st_mode & stat.S_IRWXU
                path.chmod(own | (own >> 3) & (stat.S_IRGRP | stat.S_IXGRP))


def writable_folders(
    spec: ServerSpec, variables: Variables, written: Iterable[PurePosixPath] = ()
) -> tuple[PurePosixPath, ...]:
    """Return the folders that the server's user may write in.

    Args:
        spec: The target.
        variables: For its templates.
        written: What httpdyno writes; none of it may lie in such a folder.

    Raises:
        AdapterError: One leads out of the place, or holds what the server reads as root.
    """
    homes = {PurePosixPath(variables.run), PurePosixPath(variables.memory)}
    folders = tuple(inside(name, variables) for name in spec.writable)
    for name, folder in zip(spec.writable, folders, strict=True):
        held = next((path for path in written if path.is_relative_to(folder)), None)
        if folder in homes or held is not None:
            raise AdapterError(
                f"`{name}` cannot be writable: it holds "
                + (f"`{diff_name(held, variables)}`" if held else "all that the server reads"),
                hint="Name a folder of its own for what the server writes.",
            )
    return folders


def _make_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AdapterError(f"`{folder}` cannot be made: {error.strerror}") from error


def _copy(
    source: Path, target: PurePosixPath, *, name: str, left_out: tuple[str, ...] = ()
) -> None:
    to = Path(target)
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            ignored = shutil.ignore_patterns(*left_out)
            shutil.copytree(
                source, to, dirs_exist_ok=True, ignore=ignored, copy_function=_copy_file
            )
        else:
            _copy_file(source, to / source.name if to.is_dir() else to)
    except (OSError, shutil.Error, RecursionError) as error:
        raise AdapterError(
            f"`{name}` of the study cannot be copied: {error}",
            hint=f"It is looked for at `{source}`.",
        ) from error


def _copy_file(source: Path | str, target: Path | str) -> None:
    """Copy a regular file with its rights and times, through no link that is not to be followed."""
    with opened_regular(source) as theirs, Path(target).open("wb") as own:
        shutil.copyfileobj(theirs, own)
        own.flush()
        info = os.fstat(theirs.fileno())
        os.fchmod(own.fileno(), stat.S_IMODE(info.st_mode))
        os.utime(own.fileno(), ns=(info.st_atime_ns, info.st_mtime_ns))


def _prepare(spec: ServerSpec, place: Place, variables: Variables) -> NotRunning | None:
    for number, command in enumerate(rendered_commands(spec, variables)):
        # The one that is a plain list has as long as a server may take to come up.
        timeout_s = _PREPARE_S if spec.prepare and number == 0 else command.timeout_s
        own = environment(spec, variables, place)
        if wrong := command_trouble(command.run, timeout_s, place, own):
            return replace(wrong, detail=_placeless(wrong.detail, place))
    return None


def finish(spec: ServerSpec, variables: Variables, place: Place, own: Mapping[str, str]) -> None:
    """Run the study's commands after a start; all of them, though one may fail.

    Args:
        spec: The target.
        variables: Of the start.
        place: Of the start, with all that it left.
        own: The server's environment.

    Raises:
        AdapterError: One failed or hung; says it in its words.
    """
    wrong = [
        command_trouble(command.run, command.timeout_s, place, own, log="finish.log")
        for command in rendered_commands(spec, variables, "finish")
    ]
    if why := failure(wrong):
        raise AdapterError(
            "a command of server.finish failed",
            why=why,
            hint="What it was to clear away may still be there.",
        )


def act(
    variables: Variables, place: Place, own: Mapping[str, str], command: SideCommand
) -> Reason | None:
    """Run a command of the study while its server is up; return what was wrong with it.

    Args:
        variables: Of the start.
        place: Of the start.
        own: The server's environment.
        command: As the study says it.
    """
    run = tuple(render_argument(part, variables, source="method.phases") for part in command.run)
    wrong = command_trouble(run, command.timeout_s, place, own, log="phase.log")
    return None if wrong is None else _placeless(wrong.detail, place)


def _placeless(why: Reason, place: Place) -> Reason:
    """Return what was wrong with a command, with the place's folders as a study calls them.

    They have another path in each start, and are gone with it.
    """
    folders = {str(place.folder): "{run}", str(place.memory_folder): "{memory}"}

    def shown(words: str) -> str:
        for path in sorted(folders, key=len, reverse=True):  # one may be in the other
            words = words.replace(path, folders[path])
        return words

    return why.mapped(shown)


def failure(outcomes: Iterable[NotRunning | None]) -> tuple[Reason, ...]:
    """Return what was wrong with the first command that failed; empty where all went well."""
    return next(((each.detail,) for each in outcomes if each is not None), ())


def command_trouble(
    command: Sequence[str],
    timeout_s: float,
    place: Place,
    own: Mapping[str, str],
    *,
    log: str = "prepare.log",
) -> NotRunning | None:
    """Run a command to its end; return what was wrong with it."""
    process = ServerProcess.spawn(command, place=place, environment=own, log=place.folder / log)
    return trouble(process, command, timeout_s)


def trouble(process: ServerProcess, command: Sequence[str], timeout_s: float) -> NotRunning | None:
    """Wait for a command's end, and end it where that does not come; return what was wrong."""
    run = " ".join(command)
    try:
        if not _ends(process, Patience(timeout_s)):
            late = because("servers.command_did_not_end", command=run, timeout_s=timeout_s)
            return NotRunning(status="hung", detail=late)
        if process.exit_code == 0:
            return None
        failed = because(
            "servers.command_ended",
            command=run,
            code=process.exit_code,
            words=last_lines(process.last_words()),
        )
        return NotRunning(status="refused", detail=failed)
    finally:
        process.stop()


def _ends(process: ServerProcess, patience: Patience) -> bool:
    while not patience.is_over:
        if process.wait(patience.slice_s):
            return True
    return process.wait(0.0)


def last_lines(text: str) -> str:
    """Return the last five lines that say something, each cut to a readable length.

    Of those that differ in numbers alone, such as times and ports, the last one stands for all.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    unlike: dict[str, str] = {}
    for line in reversed(lines):
        unlike.setdefault(_NUMBER.sub("", line), line[:300])
    return "\n".join([*unlike.values()][:5][::-1])
