"""What became of a load test's requests, and who was the limit, in words."""

from collections.abc import Callable, Iterator
from ipaddress import ip_address

from msgspec import structs

from httpdyno.load.target import is_loopback
from httpdyno.model import Evidence, LoadOutcome, Measurement, Workload
from httpdyno.report.shared import message
from httpdyno.report.shared.bottleneck import (
    RUN_QUEUE,
    WHAT_MAY_HELP,
    behind_text,
    run_queue_text,
    seen_words,
)
from httpdyno.report.shared.distribution import time_text
from httpdyno.report.shared.phrase import oxford, plural
from httpdyno.report.shared.workload_text import workload_text
from httpdyno.units import format_duration, format_percent, format_rate

# Where load went, of a name that has several addresses.


def where_text(outcome: LoadOutcome) -> str:
    """Return where the server was looked for: its address, or all of them."""
    return " or ".join(outcome.addresses) or outcome.address


def url_text(outcome: LoadOutcome) -> str:
    """Return the URL, with the address that was taken where another one was possible."""
    others = [each for each in outcome.addresses if each != outcome.address]
    if not others or _is_usual(outcome):
        return outcome.url
    return (
        f"{outcome.url} at {outcome.address}, one of {len(outcome.addresses)} addresses "
        "and the first that takes connections"
    )


def _is_usual(outcome: LoadOutcome) -> bool:
    """Whether it is the first one, and the others are this machine too: `localhost`."""
    ips = [each.rpartition(":")[0].strip("[]").partition("%")[0] for each in outcome.addresses]
    is_here = all(ip_address(ip).is_loopback for ip in ips)
    is_one_each = len({":" in ip for ip in ips}) == len(ips)
    return outcome.address == outcome.addresses[0] and is_here and is_one_each


# Why requests failed, in a sentence with the way out: the engine has a word for each reason.

_TRUST = "`--cacert FILE` trusts it, `--insecure` takes any"
_HTTP2 = "it speaks HTTP/2 only; load a port where it speaks HTTP/1.1"

_TLS = {
    "unknown_issuer": f"nobody trusted here has signed the server's certificate; {_TRUST}",
    "expired": "the server's certificate has expired; `--insecure` takes it",
    "not_yet": "the server's certificate is not valid yet; `--insecure` takes it",
    "other_name": "the server's certificate is for {}; `--sni NAME` asks for that name, "
    "`--insecure` takes any",
    "wants_identity": "the server wants a certificate; `--cert FILE --key FILE` shows one",
    "refused_identity": "the server does not take this client's certificate; "
    "`--cert FILE --key FILE` shows another",
    "unknown_name": "the server has no such name; `--sni NAME` gives another",
    "version": "client and server have no version of TLS in common; httpdyno speaks 1.2 and 1.3",
    "http2": _HTTP2,
    "no_tls": "the server does not speak TLS; load it with `http://`",
    "alert": "the server ended it with {}; perhaps it wants a certificate (`--cert FILE`) or "
    "another name (`--sni NAME`)",
    "other": "{}",
}
_NO_HTTP = {
    "http2": _HTTP2,
    "tls": "it speaks TLS; load it with `https://`",
    "start": "it began with `{}`",
    "long": "its head is longer than 300 KiB",
    "header": "a line of its head is no header",
    "chunk": "its chunks are broken",
    "cut_off": "its head was cut off by the end of the connection",
    "switched": "it switched to another protocol",
}
_LENGTH = {
    "length": "the first had {}",
    "coding": "of what is coded otherwise than by gzip, the decoded length is not known; "
    "`-H 'Accept-Encoding: gzip'` asks for that",
}
_WORDS = {
    "tls": _TLS,
    "bad_response": _NO_HTTP,
    "wrong_length": _LENGTH,
    "connect": {"system": "{}"},
}


def reason_text(kind: str, measurement: Measurement) -> str:
    """Return why the first request of a kind of error failed; empty where no more is known."""
    word, detail = measurement.reasons.get(kind, ("", ""))
    sentence = _WORDS.get(kind, {}).get(word, "")
    if "{}" not in sentence:
        return sentence
    return sentence.format(detail) if detail else _without_detail(kind, word)


def _without_detail(kind: str, word: str) -> str:
    if (kind, word) == ("tls", "other_name"):
        return _TLS["other_name"].format("another name")
    return ""


# What became of the requests, in words: the verdict line and the kinds of error.

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


# Who kept the throughput from being higher, in words, with the figures it rests on.

_WHO = {
    "server": "the server",
    "server_or_connections": "the server or the number of connections",
    "rate": "the load that was asked for",
    "client_cpu": "this client's CPU",
    "machine_cpu": "this machine's CPUs",
    "client_schedule": "this client's schedule",
    "connections": "the number of connections",
    "descriptors": "this client's limit of open files",
    "ports": "this client's local ports",
    "network": "the network stack",
}
_CPU_TIME, _THE_SERVER = "CPU time", "the server"
_MENTIONED = 0.01
"""Of the time or of the requests: less explains nothing."""
_WAITED_FOR = 0.5
"""Of the answers: where more lie ready when the client comes to look, they wait for the client."""
_SPARE_CORE = 0.5
"""Of a core of this machine that nobody used: less is none for another thread."""
_KEPT = 0.9
"""Of what was offered: who answers less in time has more under way each time."""
_PUNCTUAL_S = 0.001
_UNITS: dict[str, Callable[[float], str]] = {"_s": time_text, "_per_s": format_rate}


def who(limited_by: str) -> str:
    """Return who was limiting: `the server`."""
    return _WHO.get(limited_by, limited_by.replace("_", " "))


def verdict_text(outcome: LoadOutcome) -> str:
    """Return who was limiting and why, in a server that was looked at what of it.

    `the server: a disk; of 4.0 busy workers 3.5 waited for a disk (seen in 700 ms more of the same
    load); 49.2 of 50 connections waited for it, while this client used 6.1 % of a core`.
    """
    text = limit_text(outcome.measurement, outcome.workload)
    if outcome.look is None or outcome.bottleneck is None:
        return text
    name, _, reason = text.partition(": ")
    inner = seen_words(outcome.look, outcome.bottleneck, of="more of the same load")
    if outcome.bottleneck.limit == "unknown":
        return f"{text}; what of the server {inner}"
    return f"{name}: {inner}; {reason}" if reason else f"{name}: {inner}"


def limit_text(measurement: Measurement, workload: Workload) -> str:
    """Return who was limiting and why, empty where nobody was.

    `the server: 49.2 of 50 connections waited for it, while this client used 6.1 % of a core`.
    """
    limited_by = measurement.limited_by
    if not limited_by:
        return ""
    reason_of = _BECAUSE.get(limited_by)
    reason = reason_of(measurement, workload) if reason_of else ""
    return f"{who(limited_by)}: {reason}" if reason else who(limited_by)


def server_rows(outcome: LoadOutcome) -> Iterator[tuple[str, str]]:
    """Yield what may help a server that was the limit, and whom its CPU time is without.

    Or why nobody looked at it.
    """
    if outcome.look is not None:
        if outcome.bottleneck is not None and outcome.bottleneck.advice:
            yield WHAT_MAY_HELP, message.text(outcome.bottleneck.advice)
        if text := run_queue_text(outcome.look):
            yield RUN_QUEUE, text
        if outcome.behind:
            yield _CPU_TIME, f"without {behind_text(outcome.behind)}"
    elif outcome.not_looked:
        yield _THE_SERVER, f"not looked at: {message.text(outcome.not_looked)}"
    elif _may_be_looked_at(outcome):
        yield _THE_SERVER, "`--look` sends up to 5 s more of the load, and says what of it"


def _may_be_looked_at(outcome: LoadOutcome) -> bool:
    is_here = bool(outcome.address) and is_loopback(outcome.address)
    return is_here and outcome.measurement.limited_by == "server"


def evidence_rows(evidence: Evidence) -> list[tuple[str, str]]:
    """Return all figures that the verdict rests on, each with its unit."""
    figures = sorted(structs.asdict(evidence).items())
    return [(_name(key), _value(key, value)) for key, value in figures]


def _name(key: str) -> str:
    for suffix in ("_per_s", "_ratio", "_s"):
        if key.endswith(suffix):
            return key.removesuffix(suffix).replace("_", " ")
    return key.replace("_", " ")


def _value(key: str, value: float) -> str:
    if key.endswith("_ratio"):
        return f"{value:.2f} ×" if "inflation" in key else format_percent(value)
    for suffix in ("_per_s", "_s"):
        if key.endswith(suffix):
            return _UNITS[suffix](value)
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.1f}"


def _cpu(measurement: Measurement) -> str:
    return f"{format_percent(measurement.evidence.client_cpu_ratio)} of a core"


def _waits(measurement: Measurement) -> list[str]:
    """Return what kept this client's threads from a CPU, each with its share of the time."""
    evidence = measurement.evidence
    shares = (
        ("waited for a CPU for", evidence.client_wait_ratio),
        ("was suspended for", evidence.client_frozen_ratio),
        ("was throttled by a CPU quota for", evidence.client_throttled_ratio),
        ("had its CPU taken by the machine's host for", evidence.client_stolen_ratio),
    )
    found = [f"{words} {format_percent(share)}" for words, share in shares if share >= _MENTIONED]
    # Once is enough: the others are shares of the same.
    return [f"{found[0]} of the time", *found[1:]] if found else []


def _server(measurement: Measurement, workload: Workload) -> str:
    idle = f"this client used {_cpu(measurement)}"
    failed = measurement.n_errors / max(1, measurement.offered)
    if failed > _MENTIONED:
        return f"{format_percent(failed)} of the requests failed, while {idle}"
    if not workload.is_open_loop:
        busy = measurement.evidence.busy_connections
        waited = f"{busy:.1f} of {plural(workload.connections, 'connection')}"
        if workload.has_pages:
            waited = f"{busy:.1f} connections of {plural(workload.connections, 'user')}"
        return f"{waited} waited for it on average, while {idle}"
    reasons = []
    if n_waited := round(measurement.evidence.waited_requests):
        reasons.append(f"{plural(n_waited, 'request')} waited because no connection was free")
    achieved = _achieved(measurement)
    if achieved < 1 - _MENTIONED:
        reasons.append(f"it answered {format_percent(achieved)} of what was offered")
    if (inflation := _inflation(measurement)) > 1:
        reasons.append(f"its answers took {inflation:.1f} times as long as the first ones")
    return ", ".join([*reasons, idle])


def _achieved(measurement: Measurement) -> float:
    offered = measurement.evidence.offered_per_s
    return measurement.evidence.achieved_per_s / offered if offered else 1.0


def _inflation(measurement: Measurement) -> float:
    return measurement.evidence.service_inflation_ratio


def _rate(measurement: Measurement, workload: Workload) -> str:
    if not workload.is_open_loop:
        busy = format_percent(measurement.evidence.busy_ratio)
        few = "requests were few for so many connections"
        why = "users paused for longer than they waited" if workload.users.think.mean_s > 0 else few
        return f"{why}; {busy} of the connections were busy"
    late_s = measurement.evidence.lateness_p99_s
    if (achieved := _achieved(measurement)) < _KEPT:
        return f"{format_percent(achieved)} was answered in time, and no more slowly than at first"
    if late_s > _PUNCTUAL_S:
        return "the server kept up"
    punctual = f"; 99 % went out within {time_text(late_s)} of their due time"
    return f"the server kept up and this client had CPU to spare{punctual if late_s > 0 else ''}"


def _client_cpu(measurement: Measurement, workload: Workload) -> str:
    ready = measurement.evidence.client_ready_ratio
    found = f"found {format_percent(ready)} of the answers already waiting"
    told = [f"used {_cpu(measurement)}", *_waits(measurement)]
    seen = oxford([*told, found] if ready >= _WAITED_FOR else told)
    more = "load from another machine"
    if measurement.evidence.idle_cpu_ratio >= _SPARE_CORE:
        more = f"use more `--threads`, or {more}"
    return f"its busiest thread {seen}, so the server could do more than this shows; {more}"


def _machine_cpu(measurement: Measurement, workload: Workload) -> str:
    evidence = measurement.evidence
    used = evidence.others_cpu_ratio
    n_cores = max(1, round(used + evidence.idle_cpu_ratio + evidence.client_cpu_ratio))
    waited = format_percent(evidence.client_wait_ratio)
    return (
        f"others, perhaps the server, used {used:.1f} of {plural(n_cores, 'core')}, and this "
        f"client waited for one for {waited} of the time; load from another machine, or when this "
        "one is idle"
    )


def _client_schedule(measurement: Measurement, workload: Workload) -> str:
    n_late = plural(round(measurement.evidence.late_requests), "request")
    waits = _waits(measurement)
    why = f"it {oxford(waits)}" if waits else "something else kept it from running"
    return (
        f"{n_late} went out over 1 ms late though a connection was free, and the CPU was not "
        f"short ({_cpu(measurement)}): {why}"
    )


def _connections(measurement: Measurement, workload: Workload) -> str:
    if not workload.is_open_loop:
        busy = measurement.evidence.busy_connections
        return (
            f"{busy:.1f} of {plural(workload.connections, 'connection')} waited for an answer on "
            "average, but not for each other in the server: more connections (`-c`) may give more "
            "throughput"
        )
    n_waited = plural(round(measurement.evidence.waited_requests), "request")
    return (
        f"{n_waited} waited for a free one of {workload.connections:,}, while the server answered "
        "about as fast as it ever did; allow more with `-c`"
    )


def _server_or_connections(measurement: Measurement, workload: Workload) -> str:
    told = "whether for each other in the server cannot be told: try more with `-c`"
    if workload.is_open_loop:
        n_waited = plural(round(measurement.evidence.waited_requests), "request")
        return f"{n_waited} waited for a free one of {workload.connections:,}, {told}"
    busy = measurement.evidence.busy_connections
    return (
        f"{busy:.1f} of {plural(workload.connections, 'connection')} waited for an answer on "
        f"average; {told}"
    )


def _descriptors(measurement: Measurement, workload: Workload) -> str:
    n = plural(round(measurement.evidence.no_descriptors), "request")
    return f"{n} found none left; raise it with `ulimit -n`"


def _ports(measurement: Measurement, workload: Workload) -> str:
    n = plural(round(measurement.evidence.no_ports), "request")
    return f"{n} found none left; keep connections alive, or widen `net.ipv4.ip_local_port_range`"


def _network(measurement: Measurement, workload: Workload) -> str:
    parts = []
    if (connecting := measurement.evidence.unanswered_connect_ratio) >= _MENTIONED:
        parts.append(f"{format_percent(connecting)} of the time went into SYNs without an answer")
    if (resent := measurement.evidence.long_answer_ratio) >= _MENTIONED:
        late = plural(round(measurement.evidence.long_answers), "answer")
        share = format_percent(resent)
        parts.append(
            f"{share} of the time went into {late} as late as a segment that is sent again"
        )
    counters = {
        "listen_overflows": "connections found a full accept queue",
        "listen_drops": "were dropped by a listener",
        "syn_retransmits": "SYNs were sent again",
        "tcp_retransmits": "segments were sent again",
    }
    told = [
        f"{n:,} {text}"
        for key, text in counters.items()
        if (n := round(getattr(measurement.evidence, key)))
    ]
    return "; ".join([*parts, *([f"on this machine {oxford(told)}"] if told else [])])


_BECAUSE: dict[str, Callable[[Measurement, Workload], str]] = {
    "server": _server,
    "server_or_connections": _server_or_connections,
    "rate": _rate,
    "client_cpu": _client_cpu,
    "machine_cpu": _machine_cpu,
    "client_schedule": _client_schedule,
    "connections": _connections,
    "descriptors": _descriptors,
    "ports": _ports,
    "network": _network,
}
