"""What a load took of a server beside memory, as rows of its paragraph."""

from collections.abc import Iterator

from httpdyno.report.inspect.loaded import Loaded, Times
from httpdyno.report.shared.bottleneck import behind_text
from httpdyno.report.shared.log_text import log_texts
from httpdyno.report.shared.phrase import oxford, plural
from httpdyno.report.shared.unseen import unseen_disk, why_text
from httpdyno.units import format_bytes, format_duration

BESIDE_LABELS = ("answers", "disk", "run queue", "zombies", "errors")
_N_NAMED = 4
_N_KINDS = 4
"""Of lines of its error logs."""
_ALIKE = 0.01
"""Two times that differ by less are one."""


def beside_rows(loaded: Loaded) -> Iterator[tuple[str, str]]:
    """Yield what answers took, what disks and CPUs had to do, and what went wrong."""
    if answers := "; ".join(_answers(loaded)):
        yield "answers", answers
    if disk := _disk(loaded):
        yield "disk", disk
    if (waiting := loaded.seen.run_queue) is not None:
        yield (
            "run queue",
            f"{waiting:.1f} threads ran or were ready on the machine's "
            f"{plural(loaded.seen.host_cpus, 'CPU')} in the mean, the load client's among them",
        )
    if zombies := loaded.seen.zombies:
        named = oxford(zombies[:_N_NAMED])
        more = f" and {len(zombies) - _N_NAMED:,} more" if len(zombies) > _N_NAMED else ""
        yield "zombies", f"{len(zombies):,} at once at most: {named}{more}"
    for text in log_texts(loaded.log, _N_KINDS) or [_no_log(loaded)]:
        yield "errors", text


def _answers(loaded: Loaded) -> Iterator[str]:
    """Yield what an answer took the client, and of the server's CPUs."""
    latency, service = loaded.latency, loaded.service_time
    if latency is not None and (text := _times(latency)):
        yield f"latency {text}"
        if service is not None and not _is_alike(latency, service):
            yield f"from when it was sent, without connecting, {_times(service)}"
    if (each_s := loaded.cpu_s_per_request) is not None:
        cores = (loaded.seen.cpu_s or 0.0) / loaded.seconds if loaded.seconds > 0 else 0.0
        missing = [behind_text(loaded.behind)] if loaded.behind else []
        missing += ["children that nobody waits for"] if loaded.seen.misses_cpu else []
        without = f", without {', '.join(missing)}" if missing else ""
        errors = plural(loaded.n_errors, "error")
        told = f" for a right answer, what {errors} took in it" if loaded.n_errors else ""
        yield (
            f"{format_duration(each_s)} of the server's CPU time{told}, {cores:.2f} cores{without}"
        )


def _times(times: Times) -> str:
    told = (("p50", times.p50_s), ("p99", times.p99_s))
    return ", ".join(f"{name} {format_duration(s)}" for name, s in told if s is not None)


def _is_alike(one: Times, other: Times) -> bool:
    pairs = ((one.p50_s, other.p50_s), (one.p99_s, other.p99_s))
    return all(a is None or b is None or abs(a - b) <= _ALIKE * a for a, b in pairs)


def _disk(loaded: Loaded) -> str:
    """Return what was read from disks and written, in all, a second and an answer."""
    disk = loaded.seen.disk
    if disk is None or disk.moved is None or not disk.seconds:
        return unseen_disk(disk)
    answer = "a right answer" if loaded.n_errors else "an answer"
    told = []
    for amount, word in ((disk.moved.read_bytes, "read"), (disk.moved.written_bytes, "written")):
        text = f"{format_bytes(amount)} {word}"
        if amount:
            text += f" ({format_bytes(amount / disk.seconds)}/s"
            each = amount / loaded.n_completed if loaded.n_completed else 0.0
            text += f", {format_bytes(each)} {answer})"
        told.append(text)
    hidden = f"; of some {why_text(disk.hidden)}" if disk.hidden else ""
    return f"{' and '.join(told)}{hidden}"


def _no_log(loaded: Loaded) -> str:
    """Return why no line of an error log is told."""
    if not loaded.logs:
        return "the file that it writes its errors to is not known"
    if loaded.log is None:
        return f"{oxford(loaded.logs)} cannot be read"
    return f"no warning and nothing worse came into {oxford(loaded.logs)}"
