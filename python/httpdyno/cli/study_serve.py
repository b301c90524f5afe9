"""`httpdyno study serve`: a study's server for oneself, to look at and to ask by hand."""

import signal
from typing import Annotated

import typer

from httpdyno.cli.compare import parse_configuration
from httpdyno.cli.find_study import open_study
from httpdyno.cli.option import JsonOption, StudyArgument, knob_levels
from httpdyno.cli.output import Outputs, write_json
from httpdyno.cli.standard_streams import say, tell
from httpdyno.errors import AdapterError
from httpdyno.experiment.one_start import one_server
from httpdyno.registry import load_target
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
            help="Its configuration, or the name of one of the study's.  [default: its start]",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = None,
) -> int:
    """Start a study's server, and keep it until Ctrl-C.

    As each start of it is measured: on loopback, with what the study prepares, in a folder of its
    own that is removed at the end. The address is printed; `httpdyno inspect`, `load` and a browser
    can ask it what no study does. In JSON it is told with what the server says that it runs.
    """
    outputs = Outputs(json=json)
    outputs.check()
    opened = open_study(study)
    configuration = parse_configuration(at, opened) if at else opened.start_configuration()
    adapter = load_target(opened)
    if missing := adapter.missing(opened.server):
        raise AdapterError(
            f"study {opened.name} cannot run here: {'; '.join(missing)}",
            hint="`httpdyno doctor` says what each bundled study needs",
        )
    try:
        with one_server(adapter, opened, configuration) as up:
            [address, *more] = up.running.addresses
            path = opened.workload.requests[0].path
            url = f"{'https' if opened.server.is_tls else 'http'}://{address}{path}"
            if outputs.json is not None:
                told = {"url": url, "pids": list(up.running.root_pids)}
                told |= {"addresses": list(up.running.addresses)}
                write_json({**told, "effective": up.effective.values}, outputs.json)
            if outputs.has_text:
                say(url)
            pids = ", ".join(map(str, up.running.root_pids))
            others = f", and {', '.join(more)}" if more else ""
            tell(
                f"{configuration.label()}: up after {format_duration(up.ready_s)}, process {pids}"
                f"{others}; Ctrl-C ends it"
            )
            signal.pause()
    except KeyboardInterrupt:
        tell(f"the server of {opened.name} is ended")
    return 0
