"""What runs here, as JSON: everything in built-in types, values of the environment left out."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from httpdyno.report.inspect.facts import Asked
from httpdyno.report.inspect.finding import Finding
from httpdyno.report.inspect.loaded import Loaded, Times
from httpdyno.report.inspect.page import Page, Server
from httpdyno.report.shared.log_text import log_json
from httpdyno.report.shared.message import text, texts
from httpdyno.report.shared.published import published
from httpdyno.report.shared.unseen import COUNTERS
from httpdyno.telemetry.observed import Observed
from httpdyno.telemetry.pool import rss_bytes
from httpdyno.telemetry.worker import Worker

_AT_TOP = ("pool", "workers", "findings")


def inspect_json(page: Page) -> dict[str, Any]:
    """Return the whole as built-in types.

    What scripts ask for most stands at the top as well: of the one server that was named, whatever
    serves its backends, or of the only one that is shown.
    """
    servers = [_server(each) for each in page.servers]
    pairs = zip(page.servers, servers, strict=True)
    meant = [told for each, told in pairs if each.is_named] or servers
    sole = {name: meant[0][name] for name in _AT_TOP} if len(meant) == 1 else {}
    return {
        **sole,
        "servers": servers,
        "not_looked_at": dict(page.passed_over),
        "private_copy": {
            "isolation": page.isolation or None,
            "reason": text(page.isolation_reason) if page.isolation_reason else "",
        },
    }


def _server(server: Server) -> dict[str, Any]:
    seen, found = server.seen, server.seen.found
    survey = seen.survey
    return {
        "kind": found.member.kind,
        "version": seen.version or None,
        "main": found.member.main or None,
        "command": list(found.member.command),
        "program": (found.root.program if found.root else found.member.program) or None,
        "pid": found.root.pid if found.root else None,
        "child_pids": [each.pid for each in found.below],
        "beside_pids": [each.pid for each in found.beside],
        "started_at_s": found.root.started_at_s if found.root else None,
        "user": (found.root.user if found.root else found.member.user) or None,
        "unit": found.member.unit or None,
        "unit_files": list(found.unit.files) if found.unit else [],
        "unit_limits": dict(found.unit.limits) if found.unit else {},
        "open_files_limit": found.open_files_limit or None,
        "environment_names": list(found.member.environment_names),
        "memory_bytes": server.observed.pool.pss_bytes if server.observed else None,
        "pool": pool_json(server.observed) if server.observed else None,
        "workers": workers_json(server.observed, server.served) if server.observed else [],
        "census": _census(server.asked) if server.asked else None,
        "load": loaded_json(server.loaded) if server.loaded else None,
        "listens": [each.address for each in found.listens],
        "survey": published(survey) if survey else None,
        "knobs": list(seen.knobs),
        "n_files": seen.n_files,
        "changed_files": list(seen.changed),
        "perhaps_changed_files": list(seen.perhaps_changed),
        "findings": [_finding(each) for each in server.findings],
        "not_seen": [*found.hidden, *(texts(server.observed.hidden) if server.observed else ())],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {**asdict(finding), "proposes": [published(p) for p in finding.proposes]}


def _census(asked: Asked) -> dict[str, Any]:
    return {
        "url": asked.url,
        "answers": {str(status): n for status, n in asked.answers},
        **published(asked.census),
    }


# Its processes.


_OF_POOL = (
    *("n_workers", "pss_bytes", "uss_bytes", "shared_bytes", "rss_bytes", "file_pss_bytes"),
    *("swap_bytes", "parent_pss_bytes", "largest_uss_bytes", "median_uss_bytes"),
    *("largest_rss_bytes", "n_hidden"),
)
_OF_MEMORY = (
    *("pss_bytes", "uss_bytes", "shared_bytes", "anonymous_pss_bytes", "file_pss_bytes"),
    "swap_bytes",
)
"""Null where a process's memory is not known."""
_OF_WORKER = (
    *("pid", "parent", "name", "state", "age_s", "page_table_bytes", "cpu_s", "user_s", "system_s"),
    *("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults"),
    *("n_descriptors", "n_threads"),
)


def pool_json(observed: Observed) -> dict[str, Any]:
    """Return what a server's processes are together."""
    pool, host, sockets = observed.pool, observed.host, observed.sockets
    return {
        **{name: getattr(pool, name) for name in _OF_POOL},
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
    return {
        **{name: getattr(worker, name) for name in _OF_WORKER},
        **{name: getattr(worker.memory, name, None) for name in _OF_MEMORY},
        "is_parent": is_parent,
        "rss_bytes": rss_bytes(worker),
        "not_seen": list(texts(worker.hidden)),
    }


# Under a load.


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
