"""A server's processes as JSON: everything in built-in types, what is not known null."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from httpdyno.report.shared.message import texts
from httpdyno.telemetry.observed import Observed
from httpdyno.telemetry.pool import rss_bytes
from httpdyno.telemetry.worker import Worker


def pool_json(observed: Observed) -> dict[str, Any]:
    """Return what a server's processes are together."""
    pool, host, sockets = observed.pool, observed.host, observed.sockets
    return {
        "n_workers": pool.n_workers,
        "pss_bytes": pool.pss_bytes,
        "uss_bytes": pool.uss_bytes,
        "shared_bytes": pool.shared_bytes,
        "rss_bytes": pool.rss_bytes,
        "file_pss_bytes": pool.file_pss_bytes,
        "swap_bytes": pool.swap_bytes,
        "parent_pss_bytes": pool.parent_pss_bytes,
        "largest_uss_bytes": pool.largest_uss_bytes,
        "median_uss_bytes": pool.median_uss_bytes,
        "largest_rss_bytes": pool.largest_rss_bytes,
        "n_hidden": pool.n_hidden,
        "states": dict(pool.states),
        "zombies": list(pool.zombies),
        "bound": asdict(observed.bound) if observed.bound else None,
        "sockets": {**asdict(sockets), "hidden": list(texts(sockets.hidden))} if sockets else None,
        "pressure": {name: asdict(each) for name, each in host.pressure.items()},
        "swap_ins": host.swap_ins,
    }


def workers_json(observed: Observed, served: Mapping[int, int]) -> list[dict[str, Any]]:
    """Return each process, the parent first.

    Args:
        observed: All of them.
        served: Requests since it began, by pid, of those of whom it is known.
    """
    return [
        {
            **worker_json(each, is_parent=each.pid == observed.root_pid),
            "n_requests": served.get(each.pid),
        }
        for each in observed.workers
    ]


def worker_json(worker: Worker, *, is_parent: bool) -> dict[str, Any]:
    """Return one process."""
    memory = worker.memory
    return {
        "pid": worker.pid,
        "parent": worker.parent,
        "is_parent": is_parent,
        "name": worker.name,
        "state": worker.state,
        "age_s": worker.age_s,
        "pss_bytes": memory.pss_bytes if memory else None,
        "uss_bytes": memory.uss_bytes if memory else None,
        "shared_bytes": memory.shared_bytes if memory else None,
        "rss_bytes": rss_bytes(worker),
        "anonymous_pss_bytes": memory.anonymous_pss_bytes if memory else None,
        "file_pss_bytes": memory.file_pss_bytes if memory else None,
        "swap_bytes": memory.swap_bytes if memory else None,
        "page_table_bytes": worker.page_table_bytes,
        "cpu_s": worker.cpu_s,
        "user_s": worker.user_s,
        "system_s": worker.system_s,
        "voluntary_switches": worker.voluntary_switches,
        "involuntary_switches": worker.involuntary_switches,
        "minor_faults": worker.minor_faults,
        "major_faults": worker.major_faults,
        "n_descriptors": worker.n_descriptors,
        "n_threads": worker.n_threads,
        "not_seen": list(texts(worker.hidden)),
    }
