"""Which cores load and which serve, where a machine has enough to keep the two apart.

On two cores both are shared unless the study says `method.cores = "apart"`: a server with one core
is another server, to those at least that more workers are to make faster. What it gains is in
`research/README.md`.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Cores = Literal["auto", "apart", "shared"]
"""What a study wants: cores of their own for client and servers, or all cores for both."""

_MIN_CPUS_TO_SPLIT = 4
"""Below, client and server share all unless the study wants them apart: a server that may use one
core of two is another server, to those at least that more workers are to make faster."""
_CPUS_PER_THREAD = 4
"""One engine thread offers more than a server on three cores can answer."""
_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True, kw_only=True, slots=True)
class CorePlan:
    """Logical CPUs for the one and the other; both empty where they share all."""

    client: tuple[int, ...] = ()
    """One for each engine thread, no two on the same core."""
    server: tuple[int, ...] = ()


def core_plan(
    cpus: Collection[int],
    siblings: Mapping[int, Collection[int]],
    *,
    n_threads: int = 1,
    cores: Cores = "auto",
) -> CorePlan:
    """Return the plan for a machine.

    The client gets whole cores, the last ones, one for each engine thread but never more than one
    in four: a hyperthread beside a busy one is no core of its own, so it is left idle.

    Args:
        cpus: What this process may run on.
        siblings: The CPUs of the same core, for each CPU that has others.
        n_threads: How many engine threads there are to be.
        cores: What the study wants; `apart` needs two cores.
    """
    whole = sorted(
        {tuple(sorted({cpu, *siblings.get(cpu, ())} & set(cpus))) for cpu in cpus},
    )
    n_client = min(n_threads, max(1, len(cpus) // _CPUS_PER_THREAD), len(whole) - 1)
    is_shared = cores == "shared" or (cores == "auto" and len(cpus) < _MIN_CPUS_TO_SPLIT)
    if is_shared or n_client < 1:
        return CorePlan()
    return CorePlan(
        client=tuple(core[0] for core in whole[-n_client:]),
        server=tuple(sorted(cpu for core in whole[:-n_client] for cpu in core)),
    )


def own_core_plan(n_threads: int = 1, cores: Cores = "auto") -> CorePlan:
    """Return the plan for this machine, of the cores that this process may use."""
    cpus = os.sched_getaffinity(0)
    siblings = {cpu: _siblings(cpu) for cpu in cpus}
    return core_plan(cpus, siblings, n_threads=n_threads, cores=cores)


def cpu_list(text: str) -> Iterator[int]:
    """Yield the CPUs of a list as the kernel writes it: `0,4-6`."""
    for found in _RANGE.finditer(text):
        yield from range(int(found[1]), int(found[2] or found[1]) + 1)


def _siblings(cpu: int) -> tuple[int, ...]:
    try:
        return tuple(cpu_list(Path(_TOPOLOGY.format(cpu)).read_text(encoding="ascii")))
    except OSError:
        return ()  # not every container shows it
