"""`httpdyno doctor`: can this machine do what is asked of it?"""

import shlex
import shutil
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpdyno.catalog import bundled_studies, open_study
from httpdyno.cli.console import messages, results
from httpdyno.cli.option import ForceOption, JsonOption
from httpdyno.cli.output import Outputs
from httpdyno.errors import AdapterError
from httpdyno.model import HostFacts, ServerLimits
from httpdyno.reason import Reason
from httpdyno.registry import adapter_names, load_adapter, load_target
from httpdyno.report.shared.machine_card import control_groups
from httpdyno.report.shared.message import text, texts
from httpdyno.servers.limits.limit_group import limits_by, limits_complaint
from httpdyno.servers.run.leftovers import doubtful_folders
from httpdyno.servers.sandbox.available import cell_complaint, limits_of_cell, wall_complaint
from httpdyno.servers.sandbox.landlock import LIMITS_OF_OPEN, limits_of_wall
from httpdyno.telemetry.host import Noise, host_facts, measure_noise
from httpdyno.units import format_bytes, format_duration

EXAMPLE = """Example:

\b
  httpdyno doctor
"""

_INDENT = (0, 0, 0, 4)
_FEW_OPEN_FILES = 4096
_FEW_CPUS = 2
_BUSY_LOAD_PER_CPU = 0.5
_NOISY_SPREAD_RATIO = 1.3
_NOISY_NOT_RUNNING_RATIO = 0.05
_LIMITS = {"memory": ServerLimits(memory="any"), "cpu": ServerLimits(cpu="any")}
_LIMITS_OF: dict[str, Callable[[], Reason | None]] = {
    "cell": limits_of_cell,
    "wall": limits_of_wall,
    "open": lambda: LIMITS_OF_OPEN,
}
_TOOLS = {"strace": "shows a server's system calls; `apt-get install strace`"}


def command(json: JsonOption = None, force: ForceOption = False) -> int:
    """Check this machine: installed servers, limits, cores and noise.

    Exit code 1 if a bundled study cannot run here. The output lists what to install.
    """
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    with messages().status("measuring how steady this machine is"):
        noise = measure_noise()
    host = host_facts()
    studies = [open_study(name) for name in bundled_studies()]
    missing = {each.name: texts(load_target(each).missing(each.server)) for each in studies}
    remarks = [*host_remarks(host, noise), *leftover_remarks()]
    if outputs.json is not None:
        outputs.write_json(_document(host, noise, missing, remarks))
    if outputs.has_text:
        _show(
            results(),
            host=host,
            noise=noise,
            missing=missing,
            remarks=remarks,
        )
    return int(any(missing.values()))


def host_remarks(host: HostFacts, noise: Noise) -> list[str]:
    """Return what about this machine a result made on it would suffer from."""
    remarks = []
    if host.n_cpus <= _FEW_CPUS:
        remarks.append(
            f"{host.n_cpus} cores: the load and the server share them, so a figure is what both "
            "can do together; the client's own work is added to both arms, so ratios are, if "
            "anything, nearer to 1 than they would be elsewhere"
        )
    if host.load_average[0] > _BUSY_LOAD_PER_CPU * host.n_cpus:
        remarks.append(
            f"load average {host.load_average[0]:.2f} on {host.n_cpus} cores: other work is going "
            "on, and intervals will be wider for it"
        )
    if noise.not_running_ratio > _NOISY_NOT_RUNNING_RATIO:
        remarks.append(
            f"a core was taken away for {noise.not_running_ratio:.0%} of the time it was wanted"
        )
    if noise.spread_ratio > _NOISY_SPREAD_RATIO:
        remarks.append(
            f"equal work takes up to {noise.spread_ratio:.2f} × as long as at other times"
        )
    open_files = host.limits.get("open_files", 0)
    if 0 < open_files < _FEW_OPEN_FILES:
        remarks.append(
            f"{open_files} open files bound the connections; `ulimit -n {_FEW_OPEN_FILES}` "
            "raises that"
        )
    return remarks


def leftover_remarks() -> list[str]:
    """Return which folders of runs no command cleans up, since their owners may live."""
    return [
        f"`{folder}` is left alone, since its run may be live: {text(doubt)}; "
        f"once no httpdyno uses it, run `rm -r {shlex.quote(str(folder))}`"
        for folder, doubt in doubtful_folders().items()
    ]


def _versions() -> dict[str, str]:
    """Return each server's version line; empty where it is not installed."""
    versions: dict[str, str] = {}
    for name in adapter_names():
        try:
            versions[name] = load_adapter(name).version()
        except AdapterError:
            # Not installed: the studies that need it say how to install it.
            versions[name] = ""
    return versions


def _document(
    host: HostFacts, noise: Noise, missing: dict[str, tuple[str, ...]], remarks: Sequence[str]
) -> dict[str, Any]:
    return {
        "host": msgspec.to_builtins(host),
        "noise": msgspec.to_builtins(noise),
        "servers": {name: version or None for name, version in _versions().items()},
        "tools": {name: shutil.which(name) for name in _TOOLS},
        "isolation": {
            name: {
                "possible": not complaint,
                "why_not": complaint or None,
                "does_not_hold": None if complaint else _words(_LIMITS_OF[name]()) or None,
            }
            for name, complaint in _isolations().items()
        },
        "hard_limits": {
            name: {"possible": not complaint, "why_not": complaint or None}
            for name, complaint in _limit_complaints().items()
        },
        "studies": [
            {"name": name, "can_run": not lacking, "missing": list(lacking)}
            for name, lacking in missing.items()
        ],
        "remarks": list(remarks),
    }


def _show(
    console: Console,
    *,
    host: HostFacts,
    noise: Noise,
    missing: dict[str, tuple[str, ...]],
    remarks: Sequence[str],
) -> None:
    can_run = sum(not lacking for lacking in missing.values())
    style = "bold green" if can_run == len(missing) else "bold yellow"
    console.print(Text(f"{can_run} of {len(missing)} bundled studies can run here", style))
    for title, rows in (
        ("machine", _host_rows(host, noise)),
        ("limits", [(name.replace("_", " "), f"{n:,}") for name, n in host.limits.items()]),
        ("servers", [(name, said or "not installed") for name, said in _versions().items()]),
        (
            "tools",
            [(name, shutil.which(name) or f"missing: {why}") for name, why in _TOOLS.items()],
        ),
        ("private copies of servers", _isolation_rows()),
        ("hard limits of servers", _limit_rows()),
    ):
        console.print(Text(f"\n{title}", "bold"))
        console.print(_table(rows))
    if can_run < len(missing):
        console.print(Text("\nstudies that cannot run here", "bold"))
    for complaint, names in _lacking(missing).items():
        console.print(Text(complaint))
        console.print(Padding(Text(", ".join(names)), _INDENT))
    for remark in remarks:
        console.print(Text.assemble("\n", ("caveat: ", "yellow"), remark))


def _host_rows(host: HostFacts, noise: Noise) -> list[tuple[str, str]]:
    load = " ".join(f"{each:.2f}" for each in host.load_average)
    return [
        ("httpdyno", f"{host.httpdyno}, Python {host.python}"),
        ("kernel", host.kernel),
        ("CPU", f"{host.n_cpus} × {host.cpu}"),
        ("memory", format_bytes(host.memory_bytes)),
        ("load average", load),
        (
            "noise",
            f"equal work spread {noise.spread_ratio:.2f} ×, core away "
            f"{noise.not_running_ratio:.1%} of {format_duration(noise.measured_s)}",
        ),
    ]


def _lacking(missing: dict[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """Return the studies by what they lack: most lack the same, where that is not installed."""
    studies: dict[str, list[str]] = {}
    for name, lacking in missing.items():
        for complaint in lacking:
            studies.setdefault(complaint, []).append(name)
    return studies


def _isolations() -> dict[str, str]:
    """Return for each kind of private copy why it cannot be had; empty where it can."""
    return {"cell": _words(cell_complaint()), "wall": _words(wall_complaint()), "open": ""}


def _words(why: Reason | None) -> str:
    return text(why) if why else ""


def _isolation_rows() -> list[tuple[str, str]]:
    found = _isolations()
    return [
        (name, complaint or "; ".join(["possible", *filter(None, [_words(_LIMITS_OF[name]())])]))
        for name, complaint in found.items()
    ]


def _limit_complaints() -> dict[str, str]:
    """Return for each kind of limit why it cannot be set; empty where it can."""
    return {name: _words(limits_complaint([limits])) for name, limits in _LIMITS.items()}


def _limit_rows() -> list[tuple[str, str]]:
    return [
        (name, complaint or f"possible, by {control_groups(limits_by([_LIMITS[name]]))}")
        for name, complaint in _limit_complaints().items()
    ]


def _table(rows: Sequence[tuple[str, str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2), pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in rows:
        table.add_row(name, Text(fact))
    return table
