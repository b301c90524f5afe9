"""What a look at a server tells, in words: the view and the plain line share them."""

from collections.abc import Iterator, Sequence

from httpdyno.model import Behind
from httpdyno.reason import Reason
from httpdyno.report.shared import message
from httpdyno.report.shared.bottleneck import behind_text
from httpdyno.report.shared.phrase import plural
from httpdyno.report.shared.unseen import unseen_disk, why_text
from httpdyno.servers.discover.process import ProcessFacts
from httpdyno.telemetry.pool import Pool
from httpdyno.telemetry.status import Status
from httpdyno.telemetry.watched import LEAST_REQUESTS, Watched
from httpdyno.telemetry.worker import Worker, is_of_memory
from httpdyno.units import (
    format_bytes,
    format_duration,
    format_guess,
    format_number,
    format_percent,
)

_WHOLE_FROM_PER_S = 10.0
_OLD_LOOKS = 2.0
"""Memory that was read so many looks ago is told with its age."""
_N_NAMED = 4
_LEAST_CORES = 0.005
_ONE = {"workers": "worker", "connections": "connection", "processes": "process"}


def per_s(rate: float | None) -> str:
    """Return a rate of things that are few: a decimal only where it says something."""
    if rate is None:
        return "–/s"
    return f"{format_number(rate, 0 if rate >= _WHOLE_FROM_PER_S else 1)}/s"


def since_text(watched: Watched) -> str:
    """Return how long it is watched."""
    return format_guess(watched.since_s) if watched.since_s else "0 s"


def workers_text(watched: Watched) -> str:
    """Return how many workers there are, and below which roots where there are several."""
    pool, sample = watched.now.pool, watched.now.sample
    n = plural(pool.n_workers, "worker")
    if len(sample.root_pids) == 1:
        return n
    names = {each.pid: each.name for each in sample.workers}
    each_has = [f"{names[pid]} {pid} {count:,}" for pid, count in pool.workers_of.items()]
    return f"{n} below {plural(len(each_has), 'parent')} ({', '.join(each_has)})"


def detached_text(watched: Watched, beside: Sequence[ProcessFacts]) -> str:
    """Return who is of the server and below no parent of it; empty: as far as is known nobody.

    Args:
        watched: The look.
        beside: Those that are in no figure.
    """
    said = []
    if left := watched.now.pool.detached:
        said.append(
            f"{_named(left)} {_is(left)} no longer below the parent; counted in all figures"
        )
    if beside:
        said.append(beside_text(beside))
    return "; ".join(said)


def beside_text(beside: Sequence[ProcessFacts]) -> str:
    """Return who is of its unit and not below it."""
    return f"{_named(beside)} of its unit {_is(beside)} not below the parent; not counted"


def _is(several: Sequence[object]) -> str:
    return "is" if len(several) == 1 else "are"


def _named(processes: Sequence[Worker] | Sequence[ProcessFacts]) -> str:
    """Return processes by name and number, the first of many."""
    names = [f"{each.name} ({each.pid})" for each in processes[:_N_NAMED]]
    if len(processes) > _N_NAMED:
        names.append(f"{len(processes) - _N_NAMED:,} more")
    return ", ".join(names)


def memory_text(watched: Watched, every_s: float) -> str:
    """Return what all processes occupy; what of it is not known is said."""
    pool = watched.now.pool
    resident = f"RSS adds up to {format_bytes(pool.rss_bytes)}"
    if pool.pss_bytes is None or pool.uss_bytes is None or pool.shared_bytes is None:
        unseen = next(filter(is_of_memory, hidden(watched)), None)
        if unseen is not None:
            return f"{message.text(unseen)}; {resident}"
        unread = f"{pool.n_hidden:,} of {_n_processes(pool):,} processes"
        return f"memory of {unread} not read yet; {resident}"
    text = (
        f"{format_bytes(pool.pss_bytes)}: {format_bytes(pool.uss_bytes)} of their own and "
        f"{format_bytes(pool.shared_bytes)} shared"
    )
    if pool.swap_bytes:
        text += f", {format_bytes(pool.swap_bytes)} in swap"
    if pool.memory_age_s >= _OLD_LOOKS * every_s:
        text += f"; read up to {format_guess(pool.memory_age_s)} ago"
    return text


def cpu_text(watched: Watched) -> str:
    """Return the CPU time of all of them, in cores, with that of those that ended."""
    if watched.cpu_ratio is None:
        return "– cores"
    text = f"{watched.cpu_ratio:.2f} cores"
    ended = watched.turnover.ended_ratio if watched.turnover else 0.0
    if ended >= _LEAST_CORES:
        text += f" ({ended:.2f} of those that ended)"
    return ", ".join(filter(None, [text, _cost_text(watched)]))


def _cost_text(watched: Watched) -> str:
    """Return the CPU time of a request, now and in the mean; empty where it is not known."""
    whole_s = watched.whole_cost.cpu_s_per_request
    now_s = watched.cost.cpu_s_per_request if watched.cost else None
    if now_s is None:
        return f"{_rough(whole_s)} a request since the view began" if whole_s is not None else ""
    text = f"{_rough(now_s)} a request"
    if whole_s is None or watched.whole_cost == watched.cost:
        return text
    return f"{text} ({_rough(whole_s)} since the view began)"


def turnover_text(watched: Watched) -> str:
    """Return forks and exits per second."""
    happened = watched.change
    if happened is None:
        return "forks –/s, exits –/s"
    forks = per_s(happened.births / happened.elapsed_s)
    return f"forks {forks}, exits {per_s(happened.deaths / happened.elapsed_s)}"


def missing_text(
    watched: Watched, behind: Sequence[Behind], beside: Sequence[ProcessFacts] = ()
) -> str:
    """Return whose CPU time is not in the figure; empty: as far as is known nobody's."""
    missing = [behind_text(behind)] if behind else []
    missing += [_named(beside)] if beside else []
    if watched.now.group_cpu_s is None:
        careless = [each for each in watched.now.sample.workers if each.ignores_children]
        missing += [f"children of {each.name} ({each.pid})" for each in careless[:_N_NAMED]]
    return f"without {', '.join(missing)}" if missing else ""


def fork_text(watched: Watched) -> str:
    """Return what forks and ended processes cost; empty where there were none."""
    cost, said = watched.turnover, []
    if cost is not None and (birth_s := cost.birth_parent_s) is not None:
        said.append(f"a fork takes at most {_rough(birth_s)} of the parent's CPU time")
    if cost is not None and cost.ended_s:
        said.append(f"ended processes had used {format_duration(cost.ended_s)} of CPU time in all")
    return "; ".join(said)


def queue_texts(watched: Watched, every_s: float) -> Iterator[str]:
    """Yield who waits to be accepted, connections by state, and how often a queue was full."""
    sockets = watched.now.sockets
    for each in sockets.queues:
        yield f"{each.address} {each.waiting:,} of {each.backlog:,} waiting"
    if sockets.states:
        ordered = sorted(sockets.states.items(), key=lambda each: (-each[1], each[0]))
        states = ", ".join(f"{n:,} {state}" for state, n in ordered)
        age_s = watched.now.states_age_s
        is_old = age_s >= _OLD_LOOKS * every_s
        yield f"{states} ({format_guess(age_s)} ago)" if is_old else states
    if watched.overflows is not None:
        yield f"{plural(watched.overflows, 'overflow')} in its network"
    yield from message.texts(sockets.hidden)


def state_text(watched: Watched) -> str:
    """Return how many processes are in which state, most of all first."""
    states = sorted(watched.now.pool.states.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{n:,} {state}" for state, n in states)


def zombie_text(watched: Watched) -> str:
    """Return which have ended and were not asked how; empty: none."""
    zombies = watched.now.pool.zombies
    more = [f"{len(zombies) - _N_NAMED:,} more"] if len(zombies) > _N_NAMED else []
    return ", ".join([*zombies[:_N_NAMED], *more])


def disk_text(watched: Watched, every_s: float) -> str:
    """Return what is read from disks and written; empty at the first look."""
    disk = watched.now.disk
    if disk is None or disk.moved is None or not disk.seconds:
        return unseen_disk(disk)
    moved, n = (disk.moved.read_bytes, disk.moved.written_bytes), watched.disk_requests.n
    read, written = (format_bytes(each / disk.seconds) for each in moved)
    text = f"{read}/s read and {written}/s written"
    if n is not None and n >= LEAST_REQUESTS and any(moved):
        read, written = (format_bytes(each / n) for each in moved)
        text += f", {read} and {written} a request"
    if disk.seconds >= _OLD_LOOKS * every_s:
        text += f", over {format_guess(disk.seconds)}"
    return f"{text}; some processes: {why_text(disk.hidden)}" if disk.hidden else text


def run_queue_text(watched: Watched) -> str:
    """Return how many threads of the machine ran or were ready; empty where it is not told."""
    mean, now = watched.run_queue, watched.now.host.run_queue
    if mean is None or now is None:
        return ""
    cpus = plural(watched.now.host.n_cpus, "CPU")
    return f"run queue {now:,} on {cpus}, mean {mean:.1f} of {plural(watched.n_looks, 'sample')}"


def pressure_text(watched: Watched) -> str:
    """Return for what tasks of the machine waited, and what comes back from swap."""
    told = sorted(watched.now.host.pressure.items())
    waited = ", ".join(f"{name} {format_percent(each.some_ratio)}" for name, each in told)
    swap = f"{per_s(watched.swap_ins_per_s)} pages back from swap"
    pressed = f"tasks waited for {waited} of the last 10 s" if waited else ""
    return "; ".join(filter(None, [run_queue_text(watched), pressed, swap]))


def status_texts(watched: Watched) -> Iterator[str]:
    """Yield what the server says itself."""
    said = watched.now.status
    if said is None:
        if watched.now.no_status:
            yield f"no status: {message.text(watched.now.no_status)}"
        return
    yield f"{said.server} {_rate(watched, said)}"
    shares = sorted(watched.state_ratios.items(), key=lambda each: (-each[1], each[0]))
    if told := [f"{name} {format_percent(ratio)}" for name, ratio in shares if ratio]:
        samples = plural(watched.n_statuses, "sample")
        yield f"{', '.join(told)} of the {said.of}' time in {samples}"
    if said.answer_s is not None:
        yield f"an answer takes a worker {format_duration(said.answer_s)}{_busy(watched, said)}"
    elif (took := watched.answer_time) is not None:
        yield (
            f"an answer takes {_rough(took.seconds)} of a {_ONE[said.of]} (mean of "
            f"{plural(took.n_looks, 'sample')}, {took.n_seen:,} seen at answers)"
        )
    yield from message.texts(said.remarks)


def hidden(watched: Watched) -> tuple[Reason, ...]:
    """Return what may not be seen, with the reason, each once."""
    workers = watched.now.sample.workers
    disk = watched.now.disk
    beside = [*watched.now.sockets.hidden, *([disk.hidden] if disk and disk.hidden else [])]
    return tuple(dict.fromkeys([*(each for seen in workers for each in seen.hidden), *beside]))


def _rate(watched: Watched, said: Status) -> str:
    if said.n_requests is None:
        return "does not count requests (`ExtendedStatus On` does)"
    return f"{per_s(watched.requests_per_s)} requests"


def _busy(watched: Watched, said: Status) -> str:
    """Return how many workers that keeps at work in the mean, where the rate is known."""
    if watched.requests_per_s is None or said.answer_s is None:
        return ""
    return f", {watched.requests_per_s * said.answer_s:.2f} {said.of} at work"


def _rough(seconds: float) -> str:
    """Write a time with the digits that some looks carry."""
    return format_duration(float(f"{seconds:.2g}"))


def _n_processes(pool: Pool) -> int:
    return sum(pool.states.values()) - len(pool.zombies)
