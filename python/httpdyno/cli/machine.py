"""`httpdyno machine`: what this machine takes for a few things that servers do all the time."""

import msgspec
from rich.table import Table
from rich.text import Text

from httpdyno.cli.console import results
from httpdyno.cli.option import ForceOption, JsonOption
from httpdyno.cli.output import Outputs
from httpdyno.experiment.design.inputs import taken_anew
from httpdyno.report.shared.machine_card import card_rows
from httpdyno.telemetry.host import host_facts

EXAMPLE = """Example:

\b
  httpdyno machine
"""


def command(*, json: JsonOption = None, force: ForceOption = False) -> int:
    """Benchmark this machine's system calls, forks, copies and loopback.

    It takes about a second. Figures vary with the machine's other work: compare magnitudes between
    machines. Each run of a study records the last figures since boot.
    """
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    card, host = taken_anew().card, host_facts()
    if outputs.json is not None:
        facts = {"cpu": host.cpu, "n_cpus": host.n_cpus, "kernel": host.kernel}
        outputs.write_json({**msgspec.to_builtins(card), "host": facts})
    if outputs.has_text:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
        for name, figure in card_rows(msgspec.to_builtins(card)):
            table.add_row(name, figure)
        console = results()
        console.print(Text(f"{host.n_cpus} × {host.cpu}, {host.kernel}", "bold"))
        console.print(table)
    return 0
