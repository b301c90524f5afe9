"""Any command as a server: a program that listens where it is told to.

`[server] command` is a list of arguments. Where it is to listen, the run folder and the levels of
knobs stand in it as `{port}`, `{address}`, `{run}`, `{memory}` and `{knob.NAME}`, or in double
braces as in templates; variables of `[server.environment]` take the same. Knobs may have any name.
They reach the program by an argument, a variable or a template, and are read back from the
application's own `effective_path`, or seen in the arguments and variables of the processes that
listen.

The program runs in the run folder, or, with `folder`, where it lies, and nothing is copied.
"""

import pwd
from collections.abc import Mapping
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.model import Configuration, Effective, KnobInfo, ServerSpec
from httpdyno.servers.adapter import NotRunning, Place, Rendered, Running
from httpdyno.servers.command.program import found_program, interpreter, lacking, version_of
from httpdyno.servers.command.reach import Reach, reaches
from httpdyno.servers.command.seen import process_texts, seen
from httpdyno.servers.instance import Asked
from httpdyno.servers.network.listening import listening
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.render import Variables, render_argument, rendered_configuration
from httpdyno.servers.sandbox.user_namespace import acting_user
from httpdyno.servers.spawn import Launch, spawned
from httpdyno.servers.staging import clean_environment, last_lines

COMMAND_LINE = "command line"
"""What it is called among the files of a rendered configuration: an argument to a line."""
_ANY = "any command"
_PROGRAMS = "programs"
_NOT_RUN = frozenset({126, 127})
"""Exit codes of a program that could not be run at all."""


class Command:
    """Adapter for any command."""

    @property
    def name(self) -> str:
        """As in study files."""
        return "command"

    def knobs(self) -> Mapping[str, KnobInfo]:
        """Return nothing: a study names its knobs as it likes."""
        return {}

    def settings(self) -> Mapping[str, str]:
        """Return what it reads of a study's settings; others are for the study's own templates."""
        return {_PROGRAMS: "programs that the command itself runs, separated by spaces"}

    def missing(self, spec: ServerSpec) -> tuple[str, ...]:
        """Return which programs are not there, where that can be known without the study."""
        return tuple(
            lacking(name)
            for name in (_program_name(spec), *_programs(spec))
            if name
            and (name[:1] == "/" or "/" not in name)
            and found_program(name, None, _path(spec)) is None
        )

    def complaint(self, spec: ServerSpec, study_folder: Path, configuration: Configuration) -> str:
        """Return in words what is wrong with the study's command; empty when nothing is."""
        if not spec.command:
            return 'there is no command: `command = ["node", "server.js", "--port", "{port}"]`'
        if spec.base:
            return "server.base does nothing: a command has files and templates"
        name, folder = _program_name(spec), run_folder(spec, study_folder)
        if name and folder and found_program(name, Path(folder), _path(spec)) is None:
            return f"`{name}` is no program in `{folder}`"
        variables = Variables.placeholders(spec, configuration, server_user=own_user())
        # Command line and templates.
        rendered = self.render(spec, study_folder, configuration).files.values()
        text = " ".join([*rendered, *_variables(spec, variables)])
        if variables.port not in text:
            return (
                "neither the command nor the environment nor a template says where to listen: "
                "use `{port}` or `{address}`"
            )
        return ""

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return what the program says of its version, and its path.

        Of a command that is a shell's, the programs that it runs say theirs.

        Raises:
            AdapterError: One is not there.
        """
        if spec is None:
            return _ANY
        folder = run_folder(spec, study_folder) if study_folder else ""
        names = _programs(spec) or tuple(filter(None, [_program_name(spec)]))
        return ", ".join(_version(spec, name, folder) for name in names) or _ANY

    def render(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration
    ) -> Rendered:
        """Return command line, files and environment; touches nothing."""
        variables = Variables.placeholders(spec, configuration, server_user=own_user())
        lines = "".join(f"{argument}\n" for argument in command_line(spec, variables))
        return rendered_configuration(spec, study_folder, variables, {COMMAND_LINE: lines})

    def spawn(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration, place: Place
    ) -> Running | NotRunning:
        """Write the files and start the command; does not wait for readiness."""

        def launch(variables: Variables) -> Launch:
            return Launch(
                command=command_line(spec, variables),
                log=place.folder / "server.log",
                folder=run_folder(spec, study_folder),
                insight=lambda process: _Insight(process, variables, reaches(spec, variables)),
            )

        asked = Asked(spec=spec, configuration=configuration, known=frozenset())
        return spawned(asked, study_folder, place, server_user=own_user(), launch=launch)


class _Insight:
    """What is seen of a program that says nothing of itself."""

    def __init__(
        self, process: ServerProcess, variables: Variables, reaches: Mapping[str, Reach]
    ) -> None:
        self._process = process
        self._variables = variables
        self._reaches = reaches

    def words(self) -> str:
        return last_lines(self._process.last_words())

    def refusal(self, exit_code: int | None, words: str) -> bool:
        # Which code a program of anybody's ends with when it refuses its settings is not known; one
        # that ends in order before it was ready did so for a reason that its words may say.
        return exit_code is not None and exit_code > 0 and exit_code not in _NOT_RUN and bool(words)

    def lacking(self) -> str:
        return ""

    def effective(self) -> Effective | NotRunning:
        members = [process.pid for process in self._process.members()]
        port = f":{self._variables.port}"
        at_port = {each.pid for each in listening(members) if each.address.endswith(port)}
        found = [process_texts(pid) for pid in sorted(at_port)]
        texts = [each for each in found if each is not None]
        return seen(self._reaches, self._variables.knobs, texts)


def command_line(spec: ServerSpec, variables: Variables) -> list[str]:
    """Return the command, rendered.

    Raises:
        AdapterError: There is none, or it cannot be rendered.
    """
    if not spec.command:
        raise AdapterError(
            "a server that is a command needs one",
            hint='Set `command = ["node", "server.js", "--port", "{port}"]` in [server].',
        )
    return [render_argument(part, variables, source="command") for part in spec.command]


def run_folder(spec: ServerSpec, study_folder: Path) -> str:
    """Return where the server runs in place; empty where that is its run folder."""
    return str((study_folder / spec.folder).resolve()) if spec.folder else ""


def own_user() -> str:
    """Return the name of who runs httpdyno."""
    try:
        return pwd.getpwuid(acting_user()).pw_name
    except KeyError:
        return str(acting_user())


def _variables(spec: ServerSpec, variables: Variables) -> list[str]:
    return [
        render_argument(value, variables, source=f"environment.{name}")
        for name, value in spec.environment.items()
    ]


def _program_name(spec: ServerSpec) -> str:
    """Return the program of the command; empty where it depends on the start."""
    name = spec.command[0] if spec.command else ""
    return "" if "{" in name else name


def _programs(spec: ServerSpec) -> tuple[str, ...]:
    """Return the programs that the command runs, as the study names them."""
    return tuple(str(spec.settings.get(_PROGRAMS, "")).split())


def _version(spec: ServerSpec, name: str, folder: str) -> str:
    program = found_program(name, Path(folder) if folder else None, _path(spec))
    if program is not None:
        return version_of(interpreter(program, _path(spec)), clean_environment())
    if "/" in name and not folder:
        return name  # it comes with the study's files
    raise AdapterError(
        f"`{name}` is not a program that is installed here",
        hint="Install it, or give its whole path in `command`.",
    )


def _path(spec: ServerSpec) -> str:
    return spec.environment.get("PATH", clean_environment()["PATH"])
