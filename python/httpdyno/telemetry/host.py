"""The machine that results are made on."""

import os
import platform
import resource
from pathlib import Path

import httpdyno
from httpdyno.model import HostFacts



def host_facts(server_version: str = "") -> HostFacts:
    """Return versions, processor, limits and load of this machine.

    Args:
        server_version: The server's own version line, where one is measured.
    """
    return HostFacts(
        httpdyno=httpdyno.__version__,
        python=platform.python_version(),
        kernel=f"{platform.system()} {platform.release()}",
        cpu=cpu_name(_text("/proc/cpuinfo")) or platform.machine(),
        n_cpus=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        limits=_limits(),
        load_average=os.getloadavg(),
        server=server_version,
    )


def cpu_name(cpuinfo: str) -> str:
    """Return the processor's name in /proc/cpuinfo; empty where it has none."""
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return " ".join(value.split())
    return ""


def _limits() -> dict[str, int]:
    """Return what bounds connections and processes; −1 is no limit."""
    limits = {
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "processes": resource.getrlimit(resource.RLIMIT_NPROC)[0],
    }
    ports = _text("/proc/sys/net/ipv4/ip_local_port_range").split()
    if len(ports) == 2:  # noqa: PLR2004 - first and last
        limits["local_ports"] = int(ports[1]) - int(ports[0]) + 1
    somaxconn = _text("/proc/sys/net/core/somaxconn").strip()
    if somaxconn:
        limits["somaxconn"] = int(somaxconn)
    return limits


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # not every system, and not every container, shows it
