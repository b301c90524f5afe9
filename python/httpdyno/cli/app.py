"""The `httpdyno` command: finds the command asked for, runs it, turns errors into exit codes.

Only the module of the command asked for is imported, so that `httpdyno --help` and a mistyped
command answer at once; the table below carries the sentence that help shows for each.
"""

import logging
import os
import re
import sys
import traceback
from collections.abc import Collection, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer

from httpdyno import __version__
from httpdyno.cli.option_group import CommandGroup, GroupedCommand
from httpdyno.cli.standard_streams import (
    EXIT_BUG,
    EXIT_INTERRUPTED,
    EXIT_UNREAD,
    EXIT_USAGE,
    guard_streams,
    let_stdout_go_nowhere,
    log_to_stderr,
    say,
    tell,
    tell_error,
    tell_hint,
)
from httpdyno.errors import AdapterError, HttpdynoError, OutputError
from httpdyno.host.interruption import let_no_signal_change_the_end, take_signals

logger = logging.getLogger(__name__)

GROUPS = {
    "Measure": {
        "load": "Load an HTTP server and report throughput, latency and errors.",
        "machine": "Benchmark this machine's system calls, forks, copies and loopback.",
        "book": "Repeat the experiments of the tuning books and compare the results.",
    },
    "Compare and tune": {
        "demo": "Tune the bundled application and write a report of what helped.",
        "study": "Write, check, show and run studies of a server and its knobs.",
        "adopt": "Make a study of your own server, to tune a private copy.",
        "compare": "Compare configurations of a study's server, or running servers.",
        "tune": "Tune a server, one setting at a time, and keep proven changes.",
    },
    "Look inside": {
        "inspect": "Report running servers: settings, workers, memory and problems.",
        "watch": "Live view of a running server: workers, CPU, memory, queues.",
        "doctor": "Check this machine: installed servers, limits, cores and noise.",
    },
    "Results": {
        "report": "Show a stored run, or write it as HTML, JSON or a patch.",
        "history": "List the stored runs, newest first.",
    },
    "Reference": {
        "knobs": "List a server's settings: values, default, cost and risk.",
        "formula": "Calculate with the formulas of the tuning books, corrected.",
    },
}
"""The commands under the headings of help, each with its sentence."""

COMMANDS = {name: sentence for group in GROUPS.values() for name, sentence in group.items()}
"""Each is a module of this package with `command` (a function) or `app` (a group)."""


_EXIT_CODES = """\b
Exit codes: 0 success · 1 threshold failed or result rejected ·
2 usage error · 3 server, host or store unavailable ·
4 cleanup incomplete · 70 internal error · 130 interrupted"""

_COMPLETION_VARIABLE = "_HTTPDYNO_COMPLETE"


class _Commands(CommandGroup):
    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own
        """Write them under their headings."""
        for heading, sentences in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl(list(sentences.items()))


def main() -> None:
    """Run the command line and end the process with its exit code."""
    guard_streams()
    try:
        take_signals()  # one may have come by now
        code = run(sys.argv[1:])
        let_no_signal_change_the_end()
    except KeyboardInterrupt:
        code = _interrupted()
        let_no_signal_change_the_end()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; return its exit code.

    0 success · 1 threshold failed or result rejected · 2 usage error · 3 server, host or store
    unavailable · 4 cleanup incomplete · 70 internal error · 130 interrupted · 141 nobody reads
    stdout any more.
    """
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        return _unread()
    except OutputError as error:
        let_stdout_go_nowhere()
        return _fail(str(error), error.hint, error.exit_code)
    except SystemExit as error:
        # The libraries for terminal and command line both turn a broken pipe into this.
        if isinstance(error.__context__, BrokenPipeError):
            return _unread()
        raise
    return code


def _said(error: HttpdynoError) -> tuple[str, str]:
    if not error.why and not error.hints:
        return str(error), error.hint
    # Imported here: `httpdyno --help` need not load metrics and statistics.
    from httpdyno.report.shared.message import error_text, hint_text  # noqa: PLC0415

    return error_text(error), hint_text(error)


def _run(arguments: Sequence[str]) -> int:
    try:
        if _is_named(arguments):
            _reap()
        command = typer.main.get_command(app_for(arguments))
        code = command.main(list(arguments), prog_name="httpdyno", standalone_mode=False)
    except OutputError:
        raise
    except HttpdynoError as error:
        return _fail(*_said(error), error.exit_code)
    except typer.TyperException as error:
        return _fail(*_refused(error, arguments), EXIT_USAGE)
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except BrokenPipeError:
        raise
    except Exception as error:
        # So a signal amid the making of a class comes out of a module that is loaded meanwhile.
        if isinstance(error.__cause__, KeyboardInterrupt):
            return _interrupted()
        tell(traceback.format_exc())
        return _fail("this is a bug in httpdyno", "report it with the lines above", EXIT_BUG)
    # The command line library turns Ctrl-C into this code by itself.
    return _interrupted() if code == EXIT_INTERRUPTED else int(code or 0)


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the application with the command that these arguments ask for."""
    if _COMPLETION_VARIABLE in os.environ:
        arguments = _line_to_complete()
    return app_with(next(([each] for each in arguments if not each.startswith("-")), ()))


def _line_to_complete() -> list[str]:
    """Return the words that a shell asks about, without the program's name.

    Bash says so in one variable, the others in another. An answer must come at once, so here too
    no command is imported but the one that is written.
    """
    line = os.environ.get("_TYPER_COMPLETE_ARGS") or os.environ.get("COMP_WORDS", "")
    return line.split()[1:]


def app_with(names: Collection[str]) -> typer.Typer:
    """Return the application with these commands; the others are just their sentence."""
    app = typer.Typer(
        cls=_Commands,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        epilog=_EXIT_CODES,
    )
    app.callback(invoke_without_command=True)(_root)
    for name, sentence in COMMANDS.items():
        if name in names:
            _add_command(app, name)
        else:
            app.command(name, help=sentence)(_not_imported)
    return app


def _is_named(arguments: Sequence[str]) -> bool:
    """Whether a command is to be run, as against help, the version or a completion."""
    if _COMPLETION_VARIABLE in os.environ or {"--help", "--version"} & set(arguments):
        return False
    return next((each for each in arguments if not each.startswith("-")), None) in COMMANDS


def _reap() -> None:
    """End what a killed httpdyno left behind, and say so."""
    from httpdyno.servers.run.root import has_runs  # noqa: PLC0415 - not for help

    try:
        if not has_runs():
            return
        from httpdyno.servers.run.leftovers import reap_leftovers  # noqa: PLC0415 - heavy

        done = reap_leftovers()
        if not done:
            return
        # Imported here: it loads metrics and statistics.
        from httpdyno.report.shared.message import texts  # noqa: PLC0415

        lines: Sequence[str] = texts(done)
    except AdapterError as error:
        # Commands that need the folder say so themselves; the others do without it.
        lines = [f"did not look for what a killed httpdyno left: {_said(error)[0]}"]
    tell(*lines)


def _log_doubts() -> None:
    """Log which folders were not cleaned up, since nobody can say whether their owners live."""
    from httpdyno.servers.run.leftovers import doubtful_folders  # noqa: PLC0415 - not for help

    if folders := doubtful_folders():
        from httpdyno.report.shared.message import text  # noqa: PLC0415 - as above

        told = "; ".join(f"`{folder}`: {text(doubt)}" for folder, doubt in folders.items())
        logger.info("left alone, since their runs may be live: %s", told)


def _add_command(app: typer.Typer, name: str) -> None:
    module = import_module(f"httpdyno.cli.{name}")
    if hasattr(module, "app"):
        app.add_typer(module.app, name=name, help=COMMANDS[name])
    else:
        app.command(name, cls=GroupedCommand, epilog=module.EXAMPLE)(module.command)


def _not_imported() -> None:
    raise AssertionError("a command that was not asked for was run")


def _show_version(is_asked: bool) -> None:
    if is_asked:
        say(f"httpdyno {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    verbose: Annotated[
        int,
        typer.Option(
            "-v", "--verbose", count=True, show_default=False, help="Log more: -v actions, -vv all."
        ),
    ] = 0,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Load a web server, change one setting at a time, prove what helped."""
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    log_to_stderr(level)
    if verbose:
        _log_doubts()
    if context.invoked_subcommand is None:
        say(context.get_help())
        raise typer.Exit(EXIT_USAGE)


def _unread() -> int:
    let_stdout_go_nowhere()
    return EXIT_UNREAD


def _interrupted() -> int:
    tell("interrupted")
    return EXIT_INTERRUPTED


def _fail(message: str, hint: str, code: int) -> int:
    with suppress(OutputError):
        sys.stdout.flush()
    tell_error(sentence(message))
    if hint:
        tell("")
        tell_hint(sentence(hint))
    return code


def sentence(text: str) -> str:
    """Return a message as all of ours look: lower case at first, no full stop at the end."""
    stripped = text.strip()
    if stripped[1:2].islower():  # not an abbreviation such as HTTP
        stripped = stripped[0].lower() + stripped[1:]
    has_one_sentence = ". " not in stripped and not stripped.endswith("…")
    return stripped.removesuffix(".") if has_one_sentence else stripped


def _in_backticks(text: str) -> str:
    return re.sub(r"'([^']*)'", r"`\1`", text)


def _refused(error: typer.TyperException, arguments: Sequence[str]) -> tuple[str, str]:
    """Return what is wrong with a command line, and what to do."""
    context = getattr(error, "ctx", None)
    # An option without its value is found before its command is known.
    words = ["httpdyno", *(each for each in arguments[:1] if each in COMMANDS)]
    path = context.command_path if context is not None else " ".join(words)
    if path == "httpdyno load":
        from httpdyno.cli.load.habit import habit  # noqa: PLC0415 - of that command only

        option = getattr(error, "option_name", "")
        if hint := habit(option):
            return f"no such option: {option}", hint
    return _in_backticks(error.format_message()), f"`{path} --help` says what it takes"
