"""What became of the requests, in words: the verdict line and the kinds of error."""

from httpdyno.model import LoadOutcome, Measurement, Workload
from httpdyno.report.load.reason import reason_text
from httpdyno.report.shared.phrase import oxford, plural
from httpdyno.report.shared.workload_text import workload_text
from httpdyno.units import format_duration, format_rate

_FEW = 0.01
"""Of the answers: a rate that is off by less looks right."""

_PORT_HINTS = {
    "refused": "start the server, or name the port where it listens",
    "reset": "ports of TLS (`https://`), FastCGI and others end what is not theirs so",
    "bad_response": "name a port where HTTP/1.1 is spoken",
}

_REDIRECTS = frozenset({"301", "302", "303", "307", "308"})
ERROR_WORDS = {
    "refused": "were refused a connection",
    "reset": "had their connection reset",
    "short_body": "got a body that ended early",
    "bad_response": "got an answer that is not HTTP",
    "wrong_length": "got a body of another length than expected",
    "no_descriptors": "found no file descriptor left on this client",
    "no_ports": "found no local port left on this client",
    "connect": "could not connect",
    "tls": "failed the TLS handshake",
    "unsent": "were due but never sent",
    "unfinished": "were under way when the run was stopped",
}


def verdict_line(
    measurement: Measurement, workload: Workload, *, half_width: str = "", address: str = ""
) -> str:
    """Return how many requests got the right answer, and what happened to the others.

    Args:
        measurement: The window.
        workload: What was asked for.
        half_width: How far off the throughput may be, such as `12/s`.
        address: Where it was connected to, such as `127.0.0.1:80`.
    """
    offered, completed = measurement.offered, measurement.completed
    if offered == 0:
        return "no request was sent"
    if measurement.errors.get("refused", 0) == offered and address:
        return f"nothing listens at {address}: {_failures(measurement, workload)}"
    text = f"{completed:,} of {plural(offered, 'request')} completed"
    if completed:
        duration = format_duration(measurement.measured_s)
        rate = format_rate(measurement.throughput_per_s)
        text += f", {rate}{f' ± {half_width}' if half_width else ''} over {duration}"
        n_late = n_after_end(measurement)
        if n_late > completed * _FEW:
            text += f" ({n_late:,} after that, not in the rate)"
    return f"{text}: {_failures(measurement, workload)}" if measurement.errors else text


def redirect_hint(measurement: Measurement, workload: Workload) -> str:
    """Return what to do where all answers led elsewhere, and none was right; else empty."""
    seen = {status for status, n in measurement.statuses.items() if n}
    if workload.steps or measurement.completed or not seen or seen - _REDIRECTS:
        return ""
    return "`--location` loads where redirects lead; `--expect-status ok` takes them as right"


def port_hint(measurement: Measurement, workload: Workload) -> str:
    """Return what to do where nothing at all was answered, as at a port of another kind."""
    kinds = {kind for kind, n in measurement.errors.items() if n}
    if measurement.completed or len(kinds) != 1 or workload.steps:
        return ""
    (kind,) = kinds
    is_known = measurement.reasons.get(kind, ("start", ""))[0] != "start"
    return "" if is_known else _PORT_HINTS.get(kind, "")


def compression_hint(measurement: Measurement, workload: Workload) -> str:
    """Return what to do where most answers said that browsers get them compressed; else empty."""
    asks = any(
        name.lower() == "accept-encoding" for each in workload.requests for name, _ in each.headers
    )
    if asks or measurement.evidence.uncoded_answers * 2 <= measurement.completed:
        return ""
    return "browsers get these answers compressed; `--compressed` asks as they do"


def offer_text(outcome: LoadOutcome) -> str:
    """Return all that was offered, in one line."""
    text = workload_text(outcome.workload)
    if outcome.warm_up_s:
        text += f", after {format_duration(outcome.warm_up_s)} of the same load, in no figure"
    return text


def n_after_end(measurement: Measurement) -> int:
    """Return how many right answers came after the measured part, which the rate is over."""
    return measurement.completed - measurement.measured_completed


def is_good(measurement: Measurement) -> bool:
    """Whether every request got the right answer, and there was one."""
    return measurement.completed > 0 and not measurement.n_errors


def _failures(measurement: Measurement, workload: Workload) -> str:
    named = sorted(measurement.errors.items(), key=lambda item: -item[1])
    counted = [(kind, n) for kind, n in named if n] or [("", 0)]
    words = [failure(kind, measurement, workload) for kind, _ in counted]
    most = counted[0][1]
    if most == measurement.offered:
        return f"all {most:,} {words[0]}"
    return oxford([f"{n:,} {text}" for text, (_, n) in zip(words, counted, strict=True)])


def failure(kind: str, measurement: Measurement, workload: Workload) -> str:
    """Return what happened to the requests of one kind of error."""
    patience = format_duration(workload.timeout_s)
    match kind:
        case "wrong_status":
            got = _wrong_statuses(measurement, workload)
            which = f"status {next(iter(got))}" if len(got) == 1 else "another status"
            return f"got {which} (expected {_expected(workload)})"
        case "timeout":
            return f"got no whole answer within {patience}"
        case "connect_timeout":
            return f"were not connected within {patience}"
        case _:
            words = ERROR_WORDS.get(kind) or f"ended as {kind.replace('_', ' ')}"
            reason = reason_text(kind, measurement)
            return f"{words}: {reason}" if reason else words


def _wrong_statuses(measurement: Measurement, workload: Workload) -> list[str]:
    expected = {spec.expect_status for spec in workload.requests}
    if len(expected) != 1:
        return []
    wanted = next(iter(expected))
    return [
        status
        for status, n in measurement.statuses.items()
        if n and not _is_expected(status, wanted)
    ]


def _is_expected(status: str, wanted: int | None) -> bool:
    return status[:1] in {"2", "3"} if wanted is None else status == str(wanted)


def _expected(workload: Workload) -> str:
    wanted = {spec.expect_status for spec in workload.requests}
    return oxford(sorted("2xx or 3xx" if status is None else str(status) for status in wanted))
