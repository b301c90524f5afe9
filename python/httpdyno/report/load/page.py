"""One load test as an HTML file that needs no network and no script."""

from typing import Any

from httpdyno.model import LoadOutcome
from httpdyno.report.load import chart
from httpdyno.report.load.caveat import load_caveats
from httpdyno.report.load.json import load_json
from httpdyno.report.load.tables import (
    PHASES,
    censored_note,
    client_cpu_share,
    client_text,
    conservation_grid,
    course,
    interval_grid,
    latency_grid,
    phase_means_s,
    phases_grid,
    portions_grid,
    tail_name,
    traffic_rows,
    warm_up_text,
)
from httpdyno.report.load.text import claim_text, schedule_text
from httpdyno.report.load.threshold import is_good_enough, judgements
from httpdyno.report.load.verdict import (
    evidence_rows,
    is_good,
    offer_text,
    server_rows,
    verdict_text,
    who,
)
from httpdyno.report.shared.distribution import figure, missing_percentiles, time_text
from httpdyno.report.shared.machine_card import card_facts
from httpdyno.report.shared.phrase import NOTHING, sentence
from httpdyno.report.shared.svg import AFTER, BEFORE, percentiles_svg
from httpdyno.report.shared.template import rendered
from httpdyno.report.shared.view import Drawn, Grid, drawn
from httpdyno.report.shared.workload_text import latency_label, model_name
from httpdyno.units import format_bytes, format_duration, format_percent, format_rate

# What a load test's page shows, as plain values for its template; no markup of its own.

_MODELS = {
    "closed loop": "Each connection sent its next request when the last one was answered, so a "
    "slow server was asked less: waiting that users would have had is not in the latency.",
    "sessions": "Visitors came at random times, however fast the answers were, and each sent its "
    "next request after the answer and some thought; latency counts from when each was due.",
}
_OPEN_MODEL = (
    "Requests were due at times that were fixed beforehand, however fast the answers came; "
    "latency counts from the due time, so waiting behind a slow answer is part of it."
)
_BOUNDS = (
    "A percentile is shown where at least ten requests lie beyond it. A request that never ended "
    "counts as long as it was waited for, and a figure that it could move is marked ≥."
)


def page(outcome: LoadOutcome) -> dict[str, Any]:
    """Return the template's values."""
    return {
        "outcome": outcome,
        "host": outcome.host,
        "offer": offer_text(outcome),
        "hero": _hero(outcome),
        "tiles": _tiles(outcome),
        "thresholds": _thresholds(outcome),
        "throughput": _throughput(outcome),
        "latency_over_time": _latency_over_time(outcome),
        "percentiles": _percentiles(outcome),
        "distribution": _distribution(outcome),
        "phases": _phases(outcome),
        "legend": _legend(outcome),
        "intervals": interval_grid(outcome),
        "portions": portions_grid(outcome, is_whole=True),
        "limits": _limits(outcome),
        "evidence": _evidence(outcome),
        "conservation": conservation_grid(outcome),
        "statuses": _statuses(outcome),
        "caveats": load_caveats(outcome),
        "method": (_MODELS.get(model_name(outcome.workload), _OPEN_MODEL), _BOUNDS),
        "provenance": _provenance(outcome),
    }


def _hero(outcome: LoadOutcome) -> dict[str, Any]:
    measurement = outcome.measurement
    value, _, unit = format_rate(measurement.throughput_per_s).partition("/")
    badge = "answered" if is_good(measurement) else "errors"
    if outcome.fail_if:
        badge = "passed" if is_good_enough(outcome) else "failed"
    is_fine = badge in {"answered", "passed"}
    lines = []
    if warm_up := warm_up_text(outcome):
        lines.append(sentence(warm_up))
    if outcome.is_interrupted:
        lines.append("It was interrupted: this is what was measured until then.")
    return {
        "figure": value,
        "unit": f"/{unit}",
        "claim": claim_text(outcome),
        "badge": badge,
        "verdict": "better" if is_fine else "worse",
        "lines": lines,
    }


def _limits(outcome: LoadOutcome) -> list[dict[str, str]]:
    """Return who was the limit, a word and what says so, then what may help the server."""
    limited_by = outcome.measurement.limited_by
    text = verdict_text(outcome) or "nobody"
    rows = [("limited by", who(limited_by) if limited_by else text, text)]
    rows += [(name, "", value) for name, value in server_rows(outcome)]
    # The colon, or what else parts the word from its reason, stays with the word.
    ends = [len(word) + bool(word) for _, word, _ in rows]
    return [
        {"name": name, "word": value[:end], "reason": value[end:].lstrip()}
        for (name, _, value), end in zip(rows, ends, strict=True)
    ]


def _tiles(outcome: LoadOutcome) -> list[tuple[str, str]]:
    measurement = outcome.measurement
    latency, censored = measurement.latency, measurement.censored
    names = ("p50", "p90", "p99", "max")
    tiles = [(f"{name} latency", figure(latency, name, censored).text) for name in names]
    ratio = measurement.n_errors / measurement.offered if measurement.offered else 0.0
    tiles.append(("errors", f"{measurement.n_errors:,} ({format_percent(ratio)})"))
    tiles.append(("client CPU", f"{client_cpu_share(measurement)} of a core"))
    return [(name, text) for name, text in tiles if text != NOTHING]


def _thresholds(outcome: LoadOutcome) -> list[dict[str, str]]:
    return [
        {
            "verdict": "better" if each.is_passed else "worse",
            "badge": "pass" if each.is_passed else "fail",
            "condition": f"fail if {each.threshold.text}",
            "sentence": each.sentence,
        }
        for each in judgements(outcome)
    ]


def _throughput(outcome: LoadOutcome) -> Drawn | None:
    caption = "Right answers in each interval"
    if outcome.workload.is_open_loop:
        caption += ", and how many requests were due in it"
    return drawn(
        "Throughput",
        f"{caption}.",
        lambda width: chart.throughput_svg(outcome, width=width),
        _course_grid(outcome),
    )


def _course_grid(outcome: LoadOutcome) -> Grid:
    points = course(outcome.measurement)
    names = [name for name in ("p50", tail_name(points), "max") if name]
    return Grid(
        head=("middle", "offered", "completed", "errors", *names),
        rows=[
            (
                format_duration(point.t_s),
                format_rate(point.offered_per_s),
                format_rate(point.completed_per_s),
                format_rate(point.errors_per_s),
                *(format_duration(point.figures_s.get(name, float("nan"))) for name in names),
            )
            for point in points
        ],
    )


def _latency_over_time(outcome: LoadOutcome) -> Drawn | None:
    caption = "Of the requests that ended in each interval, by two significant digits."
    return drawn(
        "Latency",
        caption,
        lambda width: chart.latency_svg(outcome, width=width),
    )


def _percentiles(outcome: LoadOutcome) -> Drawn | None:
    measurement = outcome.measurement
    curves, colours = [("latency", measurement.latency)], [AFTER]
    if outcome.workload.is_open_loop:
        # Behind the latency: what is between the two is waiting in this client.
        curves.insert(0, ("service time", measurement.service_time))
        colours.insert(0, BEFORE)
    label = latency_label(outcome.workload)
    parts = [f"Latency {label}. At p99, one request in a hundred took longer."]
    notes = (missing_percentiles(measurement.latency), censored_note(outcome))
    parts += [sentence(note) for note in notes if note]
    return drawn(
        "By percentile",
        " ".join(parts),
        lambda width: percentiles_svg(curves, width=width, colours=colours),
        latency_grid(outcome),
    )


def _distribution(outcome: LoadOutcome) -> Drawn | None:
    return drawn(
        "How many took how long",
        "Each bar is a range of latencies; all are equally wide on this scale.",
        lambda width: chart.distribution_svg(outcome.measurement.latency, width=width),
    )


def _phases(outcome: LoadOutcome) -> Drawn | None:
    caption = (
        "The mean time of completed requests: waiting in this client, opening a connection, until "
        "the first byte of the answer, and until its last. The five add up."
    )
    return drawn(
        "Where the time went",
        caption,
        lambda width: chart.phases_svg(outcome, width=width),
        phases_grid(outcome, is_whole=True),
    )


def _legend(outcome: LoadOutcome) -> list[tuple[str, str, str]]:
    """Return each phase's colour, name and mean time."""
    return [
        (chart.PHASE_COLOURS[name], PHASES[name], time_text(mean_s))
        for name, mean_s in phase_means_s(outcome.measurement).items()
    ]


def _evidence(outcome: LoadOutcome) -> Grid | None:
    rows = evidence_rows(outcome.measurement.evidence)
    return Grid(head=("figure", "value"), rows=rows) if rows else None


def _statuses(outcome: LoadOutcome) -> Grid | None:
    rows = [(status, f"{n:,}") for status, n in outcome.measurement.statuses.items() if n]
    return Grid(head=("status", "answers"), rows=rows) if rows else None


def _provenance(outcome: LoadOutcome) -> list[tuple[str, str]]:
    host = outcome.host
    facts = [
        ("model", model_name(outcome.workload)),
        ("schedule", schedule_text(outcome)),
        ("began", outcome.began_at),
        ("measured", format_duration(outcome.measurement.measured_s)),
        ("patience", format_duration(outcome.workload.timeout_s)),
        ("client", client_text(outcome)),
        ("threads", f"{outcome.threads:,}"),
        *traffic_rows(outcome),
        ("httpdyno", host.httpdyno),
        ("kernel", host.kernel),
        ("CPU", f"{host.cpu}, {host.n_cpus}"),
        ("memory", format_bytes(host.memory_bytes)),
        ("load average", " ".join(f"{each:.2f}" for each in host.load_average)),
        *card_facts(host),
    ]
    facts += [(name.replace("_", " "), f"{value:,}") for name, value in host.limits.items()]
    return [(name, value) for name, value in facts if value]


# One load test as an HTML file that needs no network and no script.


def load_html(outcome: LoadOutcome) -> str:
    """Return the report as one self-contained file."""
    return rendered(
        "load.html.j2",
        page(outcome),
        load_json(outcome),
        css=("page.css", "load.css"),
    )
