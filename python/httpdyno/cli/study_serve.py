"""`httpdyno study serve`: a study's server for oneself, to look at and to ask by hand."""

import os
import signal
import sys
from typing import Annotated

import typer

from httpdyno.cli.compare import parse_configuration
from httpdyno.cli.launch import enter_namespace_for
from httpdyno.cli.option import ForceOption, JsonOption, StudyArgument, TrustOption, knob_levels
from httpdyno.cli.output import Outputs
from httpdyno.cli.standard_streams import say, tell
from httpdyno.cli.trusted_study import open_to_run
from httpdyno.errors import AdapterError, UsageError
from httpdyno.experiment.answer.rehearsed import difference_now, not_rehearsed
from httpdyno.experiment.one_start import one_server
from httpdyno.host.rights import is_root_of_the_machine
from httpdyno.registry import load_target
from httpdyno.servers.limits.limit_group import LIMITS_HINT, limits_complaint
from httpdyno.units import format_duration

EXAMPLE = """Example:

\b
  httpdyno study serve bookmarks --at workers=4
"""


def serve(
    study: StudyArgument,
    *,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="KNOB=VALUE,…",
            autocompletion=knob_levels,
            help="Configuration: knobs, or the name of a candidate of the study.  [default: its "
            "start]",
            show_default=False,
        ),
    ] = None,
    trust: TrustOption = False,
    json: JsonOption = None,
    force: ForceOption = False,
) -> int:
    """Start a study's server and keep it until Ctrl-C.

    It runs as in a measurement: on loopback, prepared, in a temporary folder. httpdyno prints the
    address and, if the study has a network of its own, the command that enters it. `--json` adds
    the processes and the settings in effect. From a script, end it with TERM.
    """
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    opened = open_to_run(study, is_trusted=trust)
    if opened.fragments is not None:
        raise UsageError(
            f"study {opened.name} is about code, there is no server to keep",
            hint=f"`httpdyno study check {opened.name}` calls each body once",
        )
    configuration = parse_configuration(at, opened) if at else opened.start_configuration()
    enter_namespace_for(opened)
    adapter = load_target(opened)
    if missing := adapter.missing(opened.server):
        raise AdapterError(
            f"study {opened.name} cannot run here: {'; '.join(missing)}",
            hint="`httpdyno doctor` says what each bundled study needs",
        )
    if cannot := limits_complaint(limits for _, limits in opened.limits):
        raise AdapterError(f"study {opened.name} cannot run here: {cannot}", hint=LIMITS_HINT)
    try:
        with one_server(adapter, opened, configuration) as up:
            [address, *more] = up.running.addresses
            network = up.running.networks[0]
            path = opened.workload.requests[0].path
            load = opened.load_of(configuration)
            is_tls = opened.server.tls or load.tls is not None
            url = f"{'https' if is_tls else 'http'}://{address}{path}"
            if outputs.json is not None:
                told = {"url": url, "pids": list(up.running.root_pids)}
                told |= {"addresses": list(up.running.addresses), "network": network}
                outputs.write_json({**told, "effective": up.effective.values})
            if outputs.has_text:
                say(url)
            if words := not_rehearsed(opened) or difference_now(up.running, opened, load):
                tell(words)
            # What reads it through a pipe is to have it while the server is there.
            sys.stdout.flush()
            pids = ", ".join(map(str, up.running.root_pids))
            others = f", and {', '.join(more)}" if more else ""
            tell(
                f"{configuration.label()}: up after {format_duration(up.ready_s)}, process {pids}"
                f"{others}; Ctrl-C ends it"
            )
            if network:
                tell(f"it is in a network of its own: `{_way_into(network)} COMMAND` asks it there")
            signal.pause()
    except KeyboardInterrupt:
        tell(f"the server of {opened.name} is ended")
    return 0


def _way_into(network: str) -> str:
    """Return what runs a command in a network namespace, for whoever runs this one."""
    if is_root_of_the_machine():
        return f"nsenter --net={network}"
    ours = f"/proc/{os.getpid()}/ns/user"
    return f"nsenter --preserve-credentials --user={ours} --net={network}"
