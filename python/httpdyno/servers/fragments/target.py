"""How the program of a study about code is started."""

from collections.abc import Mapping
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.model import Configuration, Fragments, KnobInfo, ServerSpec
from httpdyno.reason import Reason
from httpdyno.servers.adapter import NotRunning, Place, Rendered, Running
from httpdyno.servers.apache.made import absent_perl_modules
from httpdyno.servers.command import Command
from httpdyno.servers.command.server import command_line
from httpdyno.servers.fragments.program import Program
from httpdyno.servers.render import COMMAND_LINE, Variables, rendered_configuration
from httpdyno.servers.run.folder import remove_place
from httpdyno.servers.stack.stack import Stack
from httpdyno.servers.staging import acting_user_name, environment, stage

NAME = "fragments"
BODY = "body"
"""What the name of a body is called among the files of a rendered configuration."""
PADDING = "HTTPDYNO_PADDING"
"""A variable of a length that is drawn: where a process's stack and heap lie depends on how long
its environment is, and the same for all starts would be the same luck for all.

Source:
    Mytkowicz, Diwan, Hauswirth and Sweeney, Producing wrong data without doing anything obviously
    wrong!, ASPLOS (2009).
"""
_NO_PORT = "0"


class FragmentTarget(Stack):
    """Starts the program; fulfils what is asked of a stack, but there is no server to load."""

    def __init__(self, fragments: Fragments) -> None:
        self._fragments = fragments
        self._command = Command()

    @property
    def name(self) -> str:
        """As reports have it."""
        return NAME

    def knobs(self) -> Mapping[str, KnobInfo]:
        """Return nothing: bodies are the study's own."""
        return {}

    def settings(self) -> frozenset[str]:
        """Return what is read of them: Perl modules that the bodies need."""
        return frozenset({"perl_modules"})

    def missing(self, spec: ServerSpec) -> tuple[Reason, ...]:
        """Return that the program is not there, or what of it is not."""
        perl = absent_perl_modules(str(spec.settings.get("perl_modules", "")).split())
        return (*self._command.missing(spec), *perl)

    def check(self, spec: ServerSpec, study_folder: Path, configuration: Configuration) -> None:
        """Look for the study's command.

        Raises:
            AdapterError: There is none.
        """
        del study_folder, configuration
        if not spec.command:
            raise AdapterError('there is no command: `command = ["perl", "bodies.pl"]`')

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return what the program says of its version, and its path.

        Raises:
            AdapterError: It is not there.
        """
        return self._command.version(spec, study_folder)

    def render(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration
    ) -> Rendered:
        """Return the body, the command line and the environment; touches nothing."""
        body = configuration.values[self._fragments.knob]
        variables = Variables.placeholders(
            spec, self.of_program(configuration), server_user=acting_user_name()
        )
        lines = "".join(f"{argument}\n" for argument in command_line(spec, variables))
        return rendered_configuration(
            spec, study_folder, variables, {COMMAND_LINE: lines, BODY: f"{body}\n"}
        )

    def spawn(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration, place: Place
    ) -> Running | NotRunning:
        """Refuse: there is nothing to load.

        Raises:
            AdapterError: Always.
        """
        del spec, study_folder, configuration
        remove_place(place)
        raise AdapterError(
            "this study has no server: a program repeats bodies of code inside one process",
            hint="`httpdyno study run` and `httpdyno compare` measure it",
        )

    def of_program(self, configuration: Configuration) -> Configuration:
        """Return what the program gets of a configuration: all but the body's name.

        Bodies whose programs are the same are called in one process.
        """
        knob = self._fragments.knob
        return Configuration(values={k: v for k, v in configuration.values.items() if k != knob})

    def program(
        self,
        spec: ServerSpec,
        study_folder: Path,
        configuration: Configuration,
        place: Place,
        *,
        n_padding: int = 0,
    ) -> Program | NotRunning:
        """Write the files and start the program.

        Args:
            spec: How it is started.
            study_folder: What relative sources are relative to.
            configuration: Of any body that is called in it.
            place: Where it lives; removed where it is not started.
            n_padding: Bytes that its environment is longer by.

        Raises:
            AdapterError: It cannot be started for reasons that are not its configuration's.
        """
        variables = Variables(
            knobs=self.of_program(configuration).values,
            settings=spec.settings,
            run=str(place.folder),
            memory=str(place.memory_folder),
            port=_NO_PORT,
            server_user=acting_user_name(),
        )
        try:
            if refusal := stage(spec, study_folder, place, variables, extra={}):
                remove_place(place)
                return refusal
            own = environment(spec, variables, place, {PADDING: "." * n_padding})
            return Program.spawn(command_line(spec, variables), place=place, environment=own)
        except BaseException:
            remove_place(place)
            raise
