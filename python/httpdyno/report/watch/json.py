"""A server that was looked at twice, as JSON: what is not known is null."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from httpdyno.model import Behind
from httpdyno.report.inspect.json import worker_json
from httpdyno.report.shared.log_text import log_json
from httpdyno.report.shared.message import text, texts
from httpdyno.report.shared.published import published
from httpdyno.report.watch.phrase import hidden
from httpdyno.servers.discover.process import ProcessFacts
from httpdyno.telemetry.pool import PoolChange, Turnover
from httpdyno.telemetry.watched import LEAST_REQUESTS, Watched
from httpdyno.telemetry.worker import Worker


def watch_json(
    watched: Watched, behind: Sequence[Behind] = (), beside: Sequence[ProcessFacts] = ()
) -> dict[str, Any]:
    """Return what a look tells, with rates since the one before.

    Args:
        watched: The look.
        behind: Servers behind it, whose CPU time is in no figure.
        beside: Processes of its unit that are not below it, and in no figure either.
    """
    look, happened = watched.now, watched.change
    return {
        "elapsed_s": happened.elapsed_s if happened else None,
        "pool": {
            "n_workers": look.pool.n_workers,
            "detached_pids": [each.pid for each in look.pool.detached],
            "pss_bytes": look.pool.pss_bytes,
            "uss_bytes": look.pool.uss_bytes,
            "shared_bytes": look.pool.shared_bytes,
            "rss_bytes": look.pool.rss_bytes,
            "swap_bytes": look.pool.swap_bytes,
            "memory_age_s": look.pool.memory_age_s,
            "states": dict(look.pool.states),
            "zombies": list(look.pool.zombies),
            "cpu_ratio": watched.cpu_ratio,
            "cpu_s_per_request": watched.cost.cpu_s_per_request if watched.cost else None,
            **_rates(happened),
            **_costs(watched.turnover),
        },
        "disk": _disk(watched),
        "queues": [asdict(each) for each in look.sockets.queues],
        "connections": dict(look.sockets.states),
        "connections_age_s": look.states_age_s,
        "overflows": watched.overflows,
        "pressure": {name: asdict(each) for name, each in look.host.pressure.items()},
        "swap_ins_per_s": watched.swap_ins_per_s,
        "run_queue": look.host.run_queue,
        "mean_run_queue": watched.run_queue,
        "host_cpus": look.host.n_cpus or None,
        "status": _status(watched),
        "error_log": log_json(watched.log),
        "workers": [
            {
                **_worker(each, happened, is_parent=each.pid in look.sample.root_pids),
                "n_requests": watched.served.get(each.pid),
            }
            for each in look.sample.workers
        ],
        "behind": published(behind),
        "beside": [{"pid": each.pid, "name": each.name} for each in beside],
        "not_seen": list(texts(hidden(watched))),
    }


def _rates(happened: PoolChange | None) -> dict[str, Any]:
    if happened is None:
        names = ("births_per_s", "deaths_per_s", "major_faults_per_s")
        return dict.fromkeys(names)
    return {
        "births_per_s": happened.births / happened.elapsed_s,
        "deaths_per_s": happened.deaths / happened.elapsed_s,
        "major_faults_per_s": happened.major_faults / happened.elapsed_s,
    }


def _costs(cost: Turnover | None) -> dict[str, Any]:
    return {
        "ended_cpu_ratio": cost.ended_ratio if cost else None,
        "ended_cpu_s": cost.ended_s if cost else None,
        "birth_parent_cpu_s": cost.birth_parent_s if cost else None,
    }


def _disk(watched: Watched) -> dict[str, Any] | None:
    disk = watched.now.disk
    if disk is None or disk.moved is None or not disk.seconds:
        return None
    moved, n = disk.moved._asdict(), watched.disk_requests.n
    has_requests = n is not None and n >= LEAST_REQUESTS
    return {
        "elapsed_s": disk.seconds,
        **{f"{name}_per_s": amount / disk.seconds for name, amount in moved.items()},
        **{
            f"{name}_per_request": amount / n if has_requests and n else None
            for name, amount in moved.items()
        },
    }


def _status(watched: Watched) -> dict[str, Any] | None:
    said = watched.now.status
    if said is None:
        return {"error": text(watched.now.no_status)} if watched.now.no_status else None
    took = None if said.answer_s is not None else watched.answer_time
    return {
        "server": said.server,
        "of": said.of,
        "states": dict(said.states),
        "answering": said.answering,
        "state_ratios": dict(watched.state_ratios),
        "n_requests": said.n_requests,
        "requests_per_s": watched.requests_per_s,
        "answer_s": said.answer_s if took is None else took.seconds,
        "answers_seen": took.n_seen if took else None,
        "uptime_s": said.uptime_s,
        "remarks": list(texts(said.remarks)),
    }


def _worker(each: Worker, happened: PoolChange | None, *, is_parent: bool) -> dict[str, Any]:
    return {
        **worker_json(each, is_parent=is_parent),
        "memory_age_s": each.memory_age_s,
        "cpu_ratio": happened.cpu_ratio.get(each.pid) if happened else None,
        "switches_per_s": happened.switches_per_s.get(each.pid) if happened else None,
        "is_new": each.pid in happened.new_pids if happened else None,
    }
