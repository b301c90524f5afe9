"""Figures of arms that stand beside the others only where there are any."""

from msgspec import structs
from tests.report import sample_second
from tests.report.plain import WIDTH, plain_text
from tests.report.sample_figures import with_figures
from tests.report.study.test_also_text import asked, shown

from httpdyno.model import Connecting, HistogramData, Outcome, SystemCalls
from httpdyno.report.study.arms import arms_grid, arms_table
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import outcome_text


def looked_up(a: float | None, b: float | None) -> Outcome:
    """Return a comparison whose servers asked a resolver for so many names."""
    whole = sample_second.second_compare()
    assert whole.final is not None
    final = structs.replace(
        whole.final,
        a=with_figures(whole.final.a, lookups_per_request=a),
        b=with_figures(whole.final.b, lookups_per_request=b),
    )
    return structs.replace(whole, final=final)


def test_names_looked_up_have_a_column_a_tile_and_a_figure() -> None:
    outcome = looked_up(0.0, 2.971)
    text = plain_text(outcome_text(outcome))
    (head,) = [line for line in text.splitlines() if line.endswith("lookups")]
    rows = text.splitlines()[text.splitlines().index(head) + 1 :]
    assert [row.split()[-1] for row in rows[:2]] == ["0.00", "2.97"]
    assert all(len(line) <= WIDTH for line in text.splitlines())
    assert "lookups per request" in outcome_html(outcome)
    final = outcome_json(outcome)["final"]
    arms = final["a"], final["b"]
    assert [arm["figures"]["lookups_per_request"] for arm in arms] == [0.0, 2.971]


def connected(a: Connecting, b: Connecting) -> Outcome:
    """Return a comparison whose loads opened connections so."""
    whole = sample_second.second_compare()
    assert whole.final is not None
    final = structs.replace(
        whole.final,
        a=structs.replace(whole.final.a, connecting=a),
        b=structs.replace(whole.final.b, connecting=b),
    )
    return structs.replace(whole, final=final)


def test_handshakes_have_columns_a_tile_and_figures_where_there_is_tls() -> None:
    signing = Connecting(handshakes_full=120, completed=120)
    kept = Connecting(handshakes_full=3, handshakes_resumed=60, completed=1_200)
    outcome = connected(signing, kept)
    lines = [line.rstrip() for line in plain_text(outcome_text(outcome)).splitlines()]
    (head,) = [n for n, line in enumerate(lines) if line.endswith("handshakes  resumed")]
    assert [row.split()[-4:] for row in lines[head + 1 : head + 3]] == [
        ["100", "%", "0", "%"],
        ["0.25", "%", "5", "%"],
    ]
    assert "full handshakes of requests" in outcome_html(outcome)
    final = outcome_json(outcome)["final"]
    arms = final["a"], final["b"]
    assert [arm["connecting"]["handshakes_full_per_request"] for arm in arms] == [1.0, 0.0025]
    assert [arm["connecting"]["handshakes_resumed_per_request"] for arm in arms] == [0.0, 0.05]
    assert "handshakes" not in plain_text(outcome_text(connected(Connecting(), Connecting())))


def test_handshakes_that_are_asked_for_have_their_column_once() -> None:
    whole = connected(Connecting(handshakes_full=3, completed=1_200), Connecting())
    outcome = asked(whole, "better", metric="handshakes_full_per_request")
    heads = [line for line in shown(outcome).splitlines() if line.count("handshakes  ")]
    assert [head.split()[-3:] for head in heads] == [["memory", "handshakes", "resumed"]]
    assert "full TLS handshakes per request: better, 1.21 ×" in shown(outcome)
    final = outcome_json(outcome)["final"]
    assert final["ratios"]["handshakes_full_per_request"]["ratio"] == 1.214


def test_slow_users_have_columns_in_their_units() -> None:
    whole = sample_second.second_compare()
    assert whole.final is not None
    a = with_figures(whole.final.a, slow_throughput_per_s=12.0, slow_p90_s=1.5)
    more = ["slow_throughput_per_s", "slow_p90_s"]
    text = plain_text(arms_table(arms_grid([("start", a), ("end", whole.final.b)], more=more)))
    head, first, second = [line.split() for line in text.splitlines() if line.strip()][-3:]
    assert head == ["slow", "rate", "slow", "p90"]
    assert first == ["start", "12.0/s", "1.50", "s"]
    assert second == ["end", "–", "–"]


def test_connects_that_were_dropped_are_told_where_there_are_any() -> None:
    outcome = connected(Connecting(listen_overflows=1_312, syn_retransmits=1), Connecting())
    text = " ".join(plain_text(outcome_text(outcome)).split())
    assert "the listen queue was full 1,312 times, 1 connect was sent again" in text
    page = outcome_html(outcome)
    assert "listen queue full" in page
    assert "connects sent again" in page
    arm = outcome_json(outcome)["final"]["a"]["connecting"]
    assert (arm["listen_overflows"], arm["syn_retransmits"]) == (1_312, 1)
    none = connected(Connecting(), Connecting())
    assert "sent again" not in plain_text(outcome_text(none)) + outcome_html(none)


def test_system_calls_that_are_asked_for_have_a_column_and_figures() -> None:
    whole = asked(sample_second.second_compare(), "better", metric="calls_per_request of open")
    assert whole.final is not None
    counts = [
        SystemCalls(per_request=80.0, by_kind={"open": 4.0}, n_answers=120),
        SystemCalls(per_request=1204.4, n_answers=120),
    ]
    a, b = (
        structs.replace(
            with_figures(arm, **{"calls_per_request of open": each.of("open")}), system_calls=each
        )
        for arm, each in zip((whole.final.a, whole.final.b), counts, strict=True)
    )
    outcome = structs.replace(whole, final=structs.replace(whole.final, a=a, b=b))
    lines = [line.rstrip() for line in shown(outcome).splitlines()]
    (head,) = [number for number, line in enumerate(lines) if line.endswith("open calls")]
    assert [row.split()[-1] for row in lines[head + 1 : head + 3]] == ["4.00", "0.00"]
    assert "1,204" in outcome_html(outcome)
    final = outcome_json(outcome)["final"]
    arms = final["a"], final["b"]
    assert [arm["system_calls"]["per_request"] for arm in arms] == [80.0, 1204.4]
    assert [arm["system_calls"]["by_kind"] for arm in arms] == [{"open": 4.0}, {}]
    assert final["ratios"]["calls_per_request of open"]["ratio"] == 1.214


def test_without_a_resolver_nothing_is_told_of_them() -> None:
    outcome = looked_up(None, None)
    assert "lookups" not in plain_text(outcome_text(outcome))
    assert "lookups per request" not in outcome_html(outcome)


def test_names_of_arms_keep_their_room_beside_a_further_column() -> None:
    final = sample_second.second_compare().final
    assert final is not None
    arms = [("start", final.a), ("flush_head → true", final.b)]
    text = plain_text(arms_table(arms_grid(arms, more=["first_byte_p50_s"])))
    lines = [line.rstrip() for line in text.splitlines()]
    heads = [line.split() for line in lines if line.endswith(("memory", "first byte p50"))]
    assert heads[1:] == [["first", "byte", "p50"]]
    assert sum(line.startswith("flush_head →") for line in lines) == len(heads)
    assert all(len(line) <= WIDTH for line in lines)
    together = plain_text(arms_table(arms_grid([("start", final.a)], more=["calls_per_request"])))
    assert "memory  calls" in together


def test_a_median_between_two_unlike_pages_is_told_of_neither() -> None:
    whole = sample_second.second_compare()
    assert whole.final is not None
    halves = HistogramData(
        bounds_ns=(1_000_000, 9_000_000), counts=(500, 500), sum_s=5.0, max_s=0.009
    )
    arms = [
        structs.replace(arm, latency=halves, latency_s={"p50": 0.001, "mean": 0.005, "p99": 0.009})
        for arm in (whole.final.a, whole.final.b)
    ]
    outcome = structs.replace(whole, final=structs.replace(whole.final, a=arms[0], b=arms[1]))
    lines = plain_text(
        arms_table(arms_grid(list(zip("ab", arms, strict=True)), more=()))
    ).splitlines()
    assert all(" –  9.00 ms " in line for line in lines[1:]), "p50, and p99"
    page = outcome_html(outcome)
    assert "<dt>mean latency" in page
    assert "<dt>p50 latency" not in page
