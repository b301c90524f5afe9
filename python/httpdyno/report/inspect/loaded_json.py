"""What was seen of a server under load, as JSON: everything in built-in types."""

from dataclasses import asdict
from typing import Any

from httpdyno.report.inspect.loaded import Loaded, Times
from httpdyno.report.shared.log_text import log_json
from httpdyno.report.shared.message import texts
from httpdyno.report.shared.published import published
from httpdyno.report.shared.unseen import COUNTERS


def loaded_json(loaded: Loaded) -> dict[str, Any]:
    """Return the load, all readings, and what they come to."""
    seen = loaded.seen
    return {
        "urls": list(loaded.urls),
        "seconds": loaded.seconds,
        "connections": loaded.connections,
        "completed": loaded.n_completed,
        "errors": loaded.n_errors,
        "latency_s": _times(loaded.latency),
        "service_time_s": _times(loaded.service_time),
        "cpu_s": seen.cpu_s,
        "cpu_s_per_request": loaded.cpu_s_per_request,
        "misses_cpu": seen.misses_cpu,
        "behind": published(loaded.behind),
        "disk": _disk(loaded),
        "run_queue": seen.run_queue,
        "host_cpus": seen.host_cpus or None,
        "requests_counted_by": COUNTERS[seen.counted_by],
        "looks_cost_s": seen.looks_cost_s,
        "n_born": seen.n_born,
        "readings": [asdict(each) for each in seen.readings],
        "pool_readings": [asdict(each) for each in seen.pool],
        "zombies": list(seen.zombies),
        "error_logs": list(loaded.logs),
        "error_log": log_json(loaded.log),
        "growth": published(loaded.growth),
        "high_water": [
            {**published(each), "step_bytes": each.step_bytes} for each in loaded.high_water
        ],
        "lives": published(loaded.lives),
        "joint_life": published(loaded.joint),
        "respawn": published(loaded.respawn),
        "configured_lives": published(loaded.configured),
        "room_bytes": loaded.room_bytes,
        "reserve_bytes": loaded.reserve_bytes,
        "bottleneck": published(loaded.bottleneck),
        "look": published(loaded.look),
        "not_seen": list(texts(seen.hidden)),
    }


def _disk(loaded: Loaded) -> dict[str, Any] | None:
    disk, n = loaded.seen.disk, loaded.n_completed
    if disk is None or disk.moved is None or not disk.seconds:
        return None
    moved = disk.moved._asdict()
    return {
        "elapsed_s": disk.seconds,
        **moved,
        **{f"{name}_per_s": amount / disk.seconds for name, amount in moved.items()},
        **{f"{name}_per_request": amount / n if n else None for name, amount in moved.items()},
    }


def _times(times: Times | None) -> dict[str, float | None] | None:
    return None if times is None else {"p50": times.p50_s, "p99": times.p99_s}
