"""Warnings of experiments: none where all is well, in words with their numbers."""

import tomllib
from pathlib import Path

import pytest
from msgspec import structs
from tests.conformance.record import (
    sample_host,
    sample_outcome,
    sample_plan,
    sample_start,
    sample_window,
)
from tests.report.plain import plain_text
from tests.rows import each_row

from httpdyno.experiment.decide.warning import known_warnings, window_warnings
from httpdyno.model import Effective, Method, Outcome, Phase, ResultWarning, Site, SystemCalls
from httpdyno.reason import because
from httpdyno.report.shared import message
from httpdyno.report.shared.caveat import Caveat, caveats
from httpdyno.report.shared.message import text
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import outcome_text
from httpdyno.store.query import from_text, to_text


def told(starts):
    """Return what the windows of these starts warn of, as people read it."""
    return caveats(window_warnings(starts))


def known(host=None, method=None, site=None):
    """Return what is known before anything is measured."""
    apart = structs.replace(sample_host(), n_cpus=4, client_cpus=(3,), server_cpus=(0, 1, 2))
    study = structs.replace(sample_plan().study, method=method or Method(), site=site)
    return [text(each) for each in known_warnings(study, host or apart)]


def test_calls_that_were_counted_over_few_answers_are_told_with_how_few():
    def start(*counts):
        found = [SystemCalls(per_request=9.0, n_answers=n) for n in counts]
        return structs.replace(sample_start(), system_calls=(*found, None))

    (seen,) = told([start(20, 3), start(20, 7), start(20, 0)])
    assert seen.kind == "few_calls"
    assert seen.message.startswith("in 2 of 5 counts of system calls 10 s were over before 20 ")
    assert "the fewest were counted over 3 answers" in seen.message
    assert not told([start(20, 20), start(20, 0), sample_start()])


def start_of(**measured):
    window = sample_window()
    seen = structs.replace(window.measurement, **measured)
    return structs.replace(sample_start(), windows=(structs.replace(window, measurement=seen),) * 4)


def test_sound_windows_raise_no_doubt():
    assert told([sample_start(), sample_start(start=1)]) == ()


def test_windows_that_the_client_limited_are_counted_and_say_by_what():
    [seen] = told([sample_start(), start_of(limited_by="client_cpu")])
    assert seen.kind == "client_limited"
    assert seen.message.startswith("in 4 of 8 windows the load client (client cpu) was the limit")


def test_the_network_is_not_taken_for_the_client():
    [seen] = told([start_of(limited_by="network")])
    assert seen.message.startswith("in 4 of 4 windows the network stack was the limit, not the")


def test_what_the_host_took_is_told_in_percent_of_a_core():
    start = sample_start()
    stolen = tuple(
        structs.replace(w, telemetry=structs.replace(w.telemetry, steal_s=0.09))
        for w in start.windows
    )
    [seen] = told([structs.replace(start, windows=stolen)])
    assert seen == Caveat(
        kind="steal", message="the machine's host took 25 % of a core during the windows"
    )


@pytest.mark.parametrize("arms", [{0, 1}, {1}])
def test_that_children_are_not_counted_is_told_once(arms):
    start = sample_start()
    missing = tuple(
        structs.replace(w, telemetry=structs.replace(w.telemetry, misses_cpu=w.arm in arms))
        for w in start.windows
    )
    [seen] = told([structs.replace(start, windows=missing), start])
    assert seen.kind == ("missed_cpu_of_some" if arms == {1} else "missed_cpu")
    assert "CPU per request is too low" in seen.message
    assert ("its ratio may be wrong" in seen.message) == (arms == {1})


def test_knobs_that_nobody_read_back_are_named_once():
    unread = structs.replace(sample_start(), effective=(Effective(unverified=("b", "a")),) * 2)
    [seen] = told([unread])
    assert seen.kind == "unverified_knobs"
    assert ": a, b;" in seen.message


def test_what_copies_were_refused_is_named_once():
    tried = [("unix:/run/db.sock",), ("unix:/run/db.sock", "TCP addresses that nobody listens at")]
    starts = [structs.replace(sample_start(), tried=each) for each in tried]
    [seen] = told(starts)
    assert seen.kind == "tried_outside"
    words = "to reach unix:/run/db.sock, TCP addresses that nobody listens at, and were refused"
    assert words in seen.message


def test_a_server_with_one_core_is_doubted_where_the_machine_has_more():
    one = structs.replace(sample_host(), n_cpus=2, client_cpus=(1,), server_cpus=(0,))
    [seen] = known(one)
    assert seen.startswith("the server had 1 of 2 cores")
    [seen] = known(structs.replace(one, client_cpus=(0, 1), server_cpus=(0, 1)))
    assert seen.startswith("the load client and the server shared 2 cores")


@pytest.mark.parametrize(("n_blocks", "first"), [(1, "2.40 s"), (3, "7.20 s")])
def test_servers_that_were_fresh_may_be_other_in_the_long_run(n_blocks, first):
    fresh = Method(window_s=2.4, lead_in_s=0, warm_up_s=0, blocks_per_start=n_blocks)
    [seen] = known(method=fresh)
    assert seen.startswith(f"each server was measured in its first {first} under load ")


IN_PHASES = Method(lead_in_s=0, warm_up_s=0, phases=(Phase(name="cold"),), decides="cold")


@each_row("method", [Method(), Method(lead_in_s=0), Method(warm_up_s=0), IN_PHASES])
def test_servers_that_had_load_before_are_not_fresh(method):
    assert known(method=method) == []


def test_a_part_of_the_run_is_named_before_its_warnings():
    [seen] = caveats(window_warnings([start_of(limited_by="network")], "curve"))
    assert seen.message.startswith("curve: in 4 of 4 windows the network stack was the limit")


def test_in_what_copies_are_not_the_site_is_a_warning_each():
    assert known(site=Site(members=(), caveats=("another key", "no users"))) == [
        "another key",
        "no users",
    ]


def limited(start, **by_arm):
    seen = tuple(
        structs.replace(
            w,
            telemetry=structs.replace(
                w.telemetry, **{name: values[w.arm] for name, values in by_arm.items()}
            ),
        )
        for w in start.windows
    )
    return structs.replace(start, windows=seen)


def test_figures_under_a_cpu_limit_are_said_to_be_of_that_limit():
    start = limited(
        sample_start(), n_cpu_periods=(10, 10), n_throttled=(0, 9), throttled_s=(0.0, 1.5)
    )
    [seen] = told([start])
    assert seen.kind == "cpu_limit"
    n_windows = sum(window.arm == 1 for window in start.windows)
    assert seen.message.startswith("the server had used up its CPU limit in 0 %, 90 % of the limit")
    assert f"{1.5 * n_windows:.2f} s of CPU time" in seen.message


def test_a_cpu_limit_that_hardly_ever_is_met_is_no_doubt():
    start = limited(sample_start(), n_cpu_periods=(500, 500), n_throttled=(0, 1))
    assert told([start]) == ()


def test_a_memory_limit_that_files_fill_is_told():
    [seen] = told([limited(sample_start(), n_at_memory_limit=(0, 600))])
    assert seen.kind == "memory_limit"
    assert "the kernel took pages of files back from it" in seen.message


READ_ELSEWHERE = {
    "experiment.little_unsized": "what nobody knows the size of proves nothing",
    "experiment.steps_not_tried": "a headline says it already",
}
"""Warnings that something else than their sentence depends on, and why."""


def test_a_warning_is_a_row_and_the_place_that_raises_it():
    product = Path(message.__file__).parents[2]
    texts = [file.read_text(encoding="utf-8") for file in product.rglob("*.py")]
    file = product / "report" / "messages" / "experiment.toml"
    _, _, warnings = file.read_text(encoding="utf-8").partition("# Warnings")
    codes = [f"experiment.{name}" for name in tomllib.loads(f"#{warnings}")]
    assert len(codes) > 30
    told = {code: sum(f'"{code}"' in each for each in texts) for code in codes}
    assert {code: n for code, n in told.items() if n > 1 + (code in READ_ELSEWHERE)} == {}


def test_a_new_warning_is_shown_everywhere_by_its_row_alone(monkeypatch):
    rows = message.rows() | {"experiment.sample": "{n:count stone} in the way"}
    monkeypatch.setattr(message, "rows_of", lambda _: rows)
    warning = ResultWarning(reason=because("experiment.sample", n=2), within=("calibration",))
    outcome = structs.replace(sample_outcome("1"), warnings=(warning,))
    assert "calibration: 2 stones in the way" in plain_text(outcome_text(outcome))
    assert "2 stones in the way" in outcome_html(outcome)
    [told] = outcome_json(outcome)["warnings"]
    assert told["reason"]["text"] == "2 stones in the way"
    assert from_text(to_text(outcome), Outcome, "it") == outcome
