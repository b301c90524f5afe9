from collections.abc import Callable

import pytest
from msgspec import structs
from tests.report import sample_figures
from tests.report.plain import plain_text
from tests.report.sample_load import (
    CLOSED,
    OPEN,
    all_404,
    load_measurement,
    load_outcome,
    open_loop,
    shop,
    with_timeouts,
)
from tests.rows import each_row

from httpdyno.model import Evidence, LoadOutcome, RequestSpec
from httpdyno.report.load.text import load_text
from httpdyno.report.load.verdict import verdict_line

OUTCOMES = {
    "good": load_outcome,
    "all_404": all_404,
    "timeouts": with_timeouts,
    "open_loop": open_loop,
    "shop": shop,
}
KINDS = (
    *("refused", "reset", "timeout", "short_body", "bad_response", "wrong_status"),
    *("wrong_length", "no_descriptors", "no_ports", "connect", "unfinished", "unsent"),
    *("connect_timeout", "tls"),
)
SHORT = 30
"""Lines that a usual test may take: a screen holds them."""


def text(outcome: LoadOutcome, **options: bool) -> str:
    return plain_text(load_text(outcome, **options))


def row(seen: str, name: str) -> str:
    return next(line for line in seen.splitlines() if line.startswith(f"  {name} "))


@pytest.mark.parametrize("name", OUTCOMES)
def test_the_summary_reads_as_agreed(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"report/load_{name}.txt", text(OUTCOMES[name]()))


def test_all_that_was_measured_reads_as_agreed(golden: Callable[[str, str], None]) -> None:
    golden("report/load_verbose.txt", text(shop(), is_verbose=True, has_histogram=True))


@each_row("name", ["good", "all_404", "timeouts", "open_loop"])
def test_a_usual_summary_is_no_wall_of_text(name: str) -> None:
    assert len(text(OUTCOMES[name]()).splitlines()) <= SHORT


def test_a_path_that_answers_404_says_so_in_the_first_line() -> None:
    first = text(all_404()).splitlines()[0]
    assert first == "0 of 500 requests completed: all 500 got status 404 (expected 200)"


def test_a_whole_success_says_so_in_the_first_line() -> None:
    measurement = load_measurement()
    assert verdict_line(measurement, CLOSED) == (
        "12,345 of 12,345 requests completed, 1,234/s over 10.0 s"
    )


def test_nothing_sent_is_said_plainly() -> None:
    assert verdict_line(load_measurement(completed=0), CLOSED) == "no request was sent"


def test_several_kinds_of_error_are_named_the_most_frequent_first() -> None:
    measurement = load_measurement(completed=90, errors={"refused": 3, "timeout": 7})
    assert verdict_line(measurement, CLOSED) == (
        "90 of 100 requests completed, 9.00/s over 10.0 s: "
        "7 got no whole answer within 10.0 s and 3 were refused a connection"
    )


@each_row("kind", KINDS)
def test_each_kind_of_error_has_words_of_its_own(kind: str) -> None:
    measurement = load_measurement(completed=1, errors={kind: 2}, statuses={"500": 2})
    line = verdict_line(measurement, CLOSED)
    assert ": 2 " in line
    assert "ended as" not in line


def test_a_kind_that_is_not_known_yet_is_named_all_the_same() -> None:
    measurement = load_measurement(completed=1, errors={"bad_push": 2})
    assert verdict_line(measurement, CLOSED).endswith(": 2 ended as bad push")


@each_row(
    ("addresses", "taken", "is_told"),
    [
        ((), "127.0.0.1:80", False),
        (("127.0.0.1:80", "[::1]:80"), "127.0.0.1:80", False),
        (("127.0.0.1:80", "[::1]:80"), "[::1]:80", True),
        (("127.0.0.2:80", "127.0.0.3:80"), "127.0.0.2:80", True),
        (("10.0.0.1:80", "10.0.0.2:80"), "10.0.0.1:80", True),
    ],
)
def test_the_address_is_told_where_others_were_possible(addresses, taken, is_told):
    outcome = structs.replace(load_outcome(), address=taken, addresses=addresses)
    shown = " ".join(text(outcome).split())
    assert (f" at {taken}, one of 2 addresses" in shown) is is_told


def test_all_addresses_are_named_where_none_takes_a_connection():
    refused = load_measurement(completed=0, errors={"refused": 4})
    both = ("127.0.0.1:80", "[::1]:80")
    outcome = structs.replace(load_outcome(refused), address=both[0], addresses=both)
    assert text(outcome).startswith("nothing listens at 127.0.0.1:80 or [::1]:80: ")


@each_row(
    ("kind", "reason", "sentence"),
    [
        ("tls", ("unknown_issuer", ""), "`--cacert FILE` trusts it, `--insecure` takes any"),
        ("tls", ("expired", ""), "the server's certificate has expired; `--insecure` takes it"),
        ("tls", ("other_name", "a.test, b.test"), "is for a.test, b.test; `--sni NAME` asks"),
        ("tls", ("other_name", ""), "is for another name; `--sni NAME` asks"),
        ("tls", ("wants_identity", ""), "`--cert FILE --key FILE` shows one"),
        ("tls", ("alert", "HandshakeFailure"), "ended it with HandshakeFailure"),
        ("tls", ("http2", ""), "it speaks HTTP/2 only"),
        ("bad_response", ("http2", ""), "it speaks HTTP/2 only"),
        ("bad_response", ("tls", ""), "it speaks TLS; load it with `https://`"),
        ("bad_response", ("start", "SSH-2.0"), "not HTTP: it began with `SSH-2.0`"),
        ("bad_response", ("start", ""), "not HTTP"),
        ("bad_response", ("what a later engine says", "x"), "not HTTP"),
        ("wrong_length", ("length", "40"), "than expected: the first had 40"),
        ("wrong_length", ("coding", ""), "coded otherwise than by gzip"),
        ("connect", ("system", "No route to host"), "could not connect: No route to host"),
    ],
)
def test_a_failure_says_why_and_what_to_do(kind, reason, sentence):
    failed = load_measurement(completed=0, errors={kind: 4})
    line = verdict_line(structs.replace(failed, reasons={kind: reason}), CLOSED)
    assert line.startswith("0 of 4 requests completed: all 4 ")
    assert sentence in line
    assert line.endswith(sentence) or "; " in line


def test_several_wrong_statuses_are_not_made_one() -> None:
    measurement = load_measurement(
        completed=0, errors={"wrong_status": 9}, statuses={"404": 5, "500": 4}
    )
    assert verdict_line(measurement, CLOSED).endswith("all 9 got another status (expected 200)")


def test_any_good_status_is_expected_as_2xx_or_3xx() -> None:
    workload = structs.replace(CLOSED, requests=(RequestSpec(expect_status=None),))
    line = verdict_line(all_404().measurement, workload)
    assert line.endswith("got status 404 (expected 2xx or 3xx)")


def test_what_could_be_larger_is_marked_and_the_mark_explained() -> None:
    seen = text(with_timeouts())
    assert row(seen, "latency").count("≥ 10.0 s") == 3
    assert "≥ 1.1" in row(seen, "latency")
    assert "≥ because 60 requests never ended" in seen


def test_a_median_that_timeouts_cannot_move_is_not_marked() -> None:
    cells = row(text(with_timeouts()), "latency").split("  ")
    assert "21.0 ms" in [cell.strip() for cell in cells]


def test_no_value_is_marked_when_nothing_timed_out() -> None:
    assert "≥" not in text(load_outcome())


def test_a_closed_loop_says_what_its_latency_leaves_out_and_has_no_lateness() -> None:
    seen = text(load_outcome())
    assert "closed loop, so a stall delays requests uncounted" in seen
    assert "lateness" not in seen


def test_an_open_loop_shows_service_time_and_lateness_beside_latency() -> None:
    seen = text(open_loop())
    assert "latency, from the due time" in seen
    assert row(seen, "service")
    assert row(seen, "lateness")


def test_a_client_that_is_late_is_a_caveat() -> None:
    late = sample_figures.latency_data(0.004, 0.2, 5000)
    measurement = structs.replace(open_loop().measurement, lateness=late)
    seen = " ".join(text(load_outcome(measurement, OPEN)).split())
    assert "half of the requests were sent 4.00 ms late or later" in seen


def test_the_weightiest_caveat_is_shown_and_the_others_when_asked_for() -> None:
    usual, whole = text(shop()), text(shop(), is_verbose=True)
    [shown] = [line for line in usual.splitlines() if line.startswith("caveat")]
    assert "the engine's own counts differ" in shown
    assert "3 more with `--verbose`" in usual
    assert sum(line.startswith("caveat") for line in whole.splitlines()) == 4
    assert "more with" not in whole


def test_a_handful_of_requests_has_no_percentile_and_no_column_for_one() -> None:
    seen = text(load_outcome(load_measurement(completed=1)))
    [head] = [line for line in seen.splitlines() if "mean" in line and "max" in line]
    assert head.split() == ["mean", "max", "min"]
    assert "p50 needs 20" in seen


def test_a_mix_without_errors_has_no_column_for_them() -> None:
    right = tuple(
        structs.replace(each, errors={}, completed=each.offered)
        for each in shop().measurement.by_request
    )
    seen = text(load_outcome(structs.replace(load_measurement(), by_request=right)))
    [head] = [line for line in seen.splitlines() if "offered" in line]
    assert head.split() == ["offered", "completed", "p50", "p99", "max"]


def test_a_wide_terminal_has_all_figures_of_latency_in_a_line() -> None:
    names = ["mean", "p50", "p90", "p95", "p99", "p99.9", "max", "min", "std", "dev"]
    wide = plain_text(load_text(load_outcome()), width=200)
    assert names in [line.split() for line in wide.splitlines()]
    folded = [line.split() for line in text(load_outcome()).splitlines()]
    assert names[:-3] in folded
    assert names[-3:] in folded


def test_a_file_s_brackets_are_no_markup() -> None:
    workload = structs.replace(CLOSED, requests=(RequestSpec(path="/a[bold]"), RequestSpec()))
    measurement = structs.replace(load_measurement(), by_request=shop().measurement.by_request[:2])
    assert "GET /a[bold]" in text(load_outcome(measurement, workload, url="http://h/[red]"))


def test_a_long_mix_shows_its_first_requests_and_pages_all_the_same() -> None:
    outcome = shop()
    workload = structs.replace(
        outcome.workload, requests=tuple(RequestSpec(path=f"/{i}") for i in range(30))
    )
    many = structs.replace(outcome.measurement, by_request=outcome.measurement.by_request[:1] * 30)
    short = text(structs.replace(outcome, workload=workload, measurement=many))
    assert "GET /7 " in short
    assert "GET /8 " not in short
    assert "and 22 requests more" in short
    assert row(short, "pages")
    whole = structs.replace(outcome, workload=workload, measurement=many)
    assert "GET /29 " in text(whole, is_verbose=True)


def test_every_threshold_has_a_line() -> None:
    lines = text(shop()).splitlines()
    assert sum(line.startswith(("pass  fail if ", "FAIL  fail if ")) for line in lines) == 5
    failed = [line for line in lines if line.startswith("FAIL")]
    assert len(failed) == 1
    assert failed[0].startswith("FAIL  fail if p99.99 > 20s")


@each_row(
    ("n_uncoded", "headers", "is_told"),
    [
        (1000, (), True),
        (100, (), False),
        (1000, (("accept-encoding", "identity"),), False),
    ],
    ids=["most", "few", "who asked for it as it is"],
)
def test_answers_that_browsers_get_compressed_are_told_of(
    n_uncoded: int, headers: tuple[tuple[str, str], ...], is_told: bool
) -> None:
    measurement = structs.replace(
        load_measurement(completed=1000), evidence=Evidence(uncoded_answers=float(n_uncoded))
    )
    [request] = CLOSED.requests
    workload = structs.replace(CLOSED, requests=(structs.replace(request, headers=headers),))
    seen = text(structs.replace(load_outcome(), measurement=measurement, workload=workload))
    assert ("`--compressed`" in seen) is is_told
