"""Load a server, and look at it once the load is steady."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benches.bottlenecks.place import Built, NotBuiltError, Place

from httpdyno.experiment.trial.look import LONG_LOOK_S, LOOK_S, wants_longer, with_client
from httpdyno.load.engine import LoadHandle, start_load
from httpdyno.load.message import WindowPlan
from httpdyno.model import Workload
from httpdyno.model.look import Look
from httpdyno.telemetry.profile.profiler import Profiler

SPARE_S = 0.05
"""The look ends by so much before the load does."""
DRAIN_S = 0.2


def looked_at(build: Callable[[Place], Built], seconds: float, below: str) -> Look:
    """Build a server, load it and look at it in the second half; it ends.

    Raises:
        NotBuiltError: It cannot be built here.
    """
    with tempfile.TemporaryDirectory(prefix="bottlenecks-", dir=below) as folder:
        Path(folder).chmod(0o755)  # Servers that give up root have to look into it.
        place = Place(folder=Path(folder))
        with place.stack:
            built = build(place)
            return loaded(built, seconds)


def loaded(built: Built, seconds: float) -> Look:
    """Load it for so long; what was seen in the second half.

    Where a run would look for longer, so does this.

    Raises:
        NotBuiltError: It answers nothing.
    """
    look = _seen(built, seconds)
    return _seen(built, seconds * LONG_LOOK_S / LOOK_S) if wants_longer(look) else look


def _seen(built: Built, seconds: float) -> Look:
    handle = begun(built, built.workload, lead_in_s=seconds / 2, measure_s=seconds / 2)
    onlooker = Profiler(built.pids, network="")
    time.sleep(seconds / 2)
    onlooker.start()
    time.sleep(seconds / 2 - SPARE_S)
    look = onlooker.stop()
    handle.wait()
    (measured,) = handle.measurements()
    if not measured.completed:
        raise NotBuiltError(f"it gave not one right answer: {measured.errors} {measured.statuses}")
    return with_client(look, measured, built.workload)


def begun(built: Built, workload: Workload, *, lead_in_s: float, measure_s: float) -> LoadHandle:
    """Begin a load of one window."""
    plan = [WindowPlan(arm=0, lead_in_s=lead_in_s, measure_s=measure_s)]
    return start_load(workload, [built.address], plan, cpus=built.client_cpus, drain_s=DRAIN_S)


def capacity_per_s(built: Built, workload: Workload, seconds: float) -> float:
    """Return how many answers a second it gives in a closed loop."""
    handle = begun(built, workload, lead_in_s=seconds / 4, measure_s=seconds)
    handle.wait()
    (measured,) = handle.measurements()
    return measured.throughput_per_s


def below_default() -> str:
    """Return a folder that is on a disk."""
    return "/var/tmp" if os.access("/var/tmp", os.W_OK) else tempfile.gettempdir()
