"""Doubts of experiments: made in one place, none where all is well, in words with their numbers."""

import ast
from pathlib import Path

import pytest
from msgspec import structs
from tests.conformance.record import sample_host, sample_start, sample_window
from tests.rows import each_row

import httpdyno
from httpdyno.experiment import caveat
from httpdyno.model import Caveat, Effective, Method, Phase, Site, SystemCalls

PACKAGE = Path(httpdyno.__file__).parent


def test_experiments_make_their_caveats_in_one_module():
    makers = {
        path.name
        for path in (PACKAGE / "experiment").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Caveat"
    }
    assert makers == {"caveat.py"}


def test_calls_that_were_counted_over_few_answers_are_told_with_how_few():
    def start(*counts):
        found = [SystemCalls(per_request=9.0, n_answers=n) for n in counts]
        return structs.replace(sample_start(), system_calls=(*found, None))

    (told,) = caveat.window_caveats([start(20, 3), start(20, 7), start(20, 0)])
    assert told.kind == "few_calls"
    assert told.message.startswith("in 2 of 5 counts of system calls 10 s were over before 20 ")
    assert "the fewest were counted over 3 answers" in told.message
    assert not caveat.window_caveats([start(20, 20), start(20, 0), sample_start()])


def start_of(**measured):
    window = sample_window()
    seen = structs.replace(window.measurement, **measured)
    return structs.replace(sample_start(), windows=(structs.replace(window, measurement=seen),) * 4)


def test_sound_windows_raise_no_doubt():
    assert caveat.window_caveats([sample_start(), sample_start(start=1)]) == ()


def test_windows_that_the_client_limited_are_counted_and_say_by_what():
    [told] = caveat.window_caveats([sample_start(), start_of(limited_by="client_cpu")])
    assert told.kind == "client_limited"
    assert told.message.startswith("in 4 of 8 windows the load client (client cpu) was the limit")


def test_the_network_is_not_taken_for_the_client():
    [told] = caveat.window_caveats([start_of(limited_by="network")])
    assert told.message.startswith("in 4 of 4 windows the network stack was the limit, not the")


def test_what_the_host_took_is_told_in_percent_of_a_core():
    start = sample_start()
    stolen = tuple(
        structs.replace(w, telemetry=structs.replace(w.telemetry, steal_s=0.09))
        for w in start.windows
    )
    [told] = caveat.window_caveats([structs.replace(start, windows=stolen)])
    assert told == Caveat(
        kind="steal", message="the machine's host took 25 % of a core during the windows"
    )


@pytest.mark.parametrize("arms", [{0, 1}, {1}])
def test_that_children_are_not_counted_is_told_once(arms):
    start = sample_start()
    missing = tuple(
        structs.replace(w, telemetry=structs.replace(w.telemetry, misses_cpu=w.arm in arms))
        for w in start.windows
    )
    [told] = caveat.window_caveats([structs.replace(start, windows=missing), start])
    assert told.kind == "missed_cpu"
    assert "CPU per request is too low" in told.message
    assert ("its ratio may be wrong" in told.message) == (arms == {1})


def test_knobs_that_nobody_read_back_are_named_once():
    unread = structs.replace(sample_start(), effective=(Effective(unverified=("b", "a")),) * 2)
    [told] = caveat.window_caveats([unread])
    assert told.kind == "unverified_knobs"
    assert ": a, b;" in told.message


def test_what_copies_were_refused_is_named_once():
    tried = [("unix:/run/db.sock",), ("unix:/run/db.sock", "TCP addresses that nobody listens at")]
    starts = [structs.replace(sample_start(), tried=each) for each in tried]
    [told] = caveat.window_caveats(starts)
    assert told.kind == "tried_outside"
    words = "to reach unix:/run/db.sock, TCP addresses that nobody listens at, and were refused"
    assert words in told.message


def test_a_server_with_one_core_is_doubted_where_the_machine_has_more():
    one = structs.replace(sample_host(), n_cpus=2, client_cpus=(1,), server_cpus=(0,))
    [told] = caveat.shared_cores(one)
    assert told.kind == "one_core"
    assert told.message.startswith("the server had 1 of 2 cores")


@pytest.mark.parametrize(("n_blocks", "first"), [(1, "2.40 s"), (3, "7.20 s")])
def test_servers_that_were_fresh_may_be_other_in_the_long_run(n_blocks, first):
    fresh = Method(window_s=2.4, lead_in_s=0, warm_up_s=0, blocks_per_start=n_blocks)
    [told] = caveat.fresh_servers(fresh)
    assert told.kind == "fresh_servers"
    assert told.message.startswith(f"each server was measured in its first {first} under load ")


IN_PHASES = Method(lead_in_s=0, warm_up_s=0, phases=(Phase(name="cold"),), decides="cold")


@each_row("method", [Method(), Method(lead_in_s=0), Method(warm_up_s=0), IN_PHASES])
def test_servers_that_had_load_before_are_not_fresh(method):
    assert caveat.fresh_servers(method) == ()


def test_nothing_wrong_is_no_caveat():
    apart = structs.replace(sample_host(), n_cpus=4, client_cpus=(3,), server_cpus=(0, 1, 2))
    assert caveat.shared_cores(apart) == ()
    assert caveat.dropped_starts([]) == ()
    assert caveat.changed_amid_run([]) == ()
    assert caveat.accepted_changes([]) == ()
    assert caveat.start_breaks_limit("") == ()
    assert caveat.final_breaks_limit("") == ()


def test_a_part_of_the_run_is_named_before_its_doubts():
    [told] = caveat.within("on the curve", caveat.dropped_starts(["it hung", "it crashed"]))
    assert told.kind == "dropped_starts"
    assert told.message == "on the curve: a start was tried again 2 times, because it crashed"


def test_stored_starts_that_a_run_does_not_come_to_are_counted():
    assert caveat.unused_starts(0) == ()
    [told] = caveat.unused_starts(1)
    assert told.message.startswith("1 stored start is not used: with more time ")
    [told] = caveat.unused_starts(9)
    assert told.kind == "unused_starts"
    assert told.message.startswith("9 stored starts are not used: ")


def test_in_what_copies_are_not_the_site_is_a_caveat_each():
    assert caveat.unlike_the_site(None) == ()
    site = Site(members=(), caveats=("another key", "no users"))
    told = caveat.unlike_the_site(site)
    assert [(each.kind, each.message) for each in told] == [
        ("unlike_the_site", "another key"),
        ("unlike_the_site", "no users"),
    ]


def limited(start, **by_arm):
    seen = tuple(
        structs.replace(
            w,
            telemetry=structs.replace(
                w.telemetry, **{name: told[w.arm] for name, told in by_arm.items()}
            ),
        )
        for w in start.windows
    )
    return structs.replace(start, windows=seen)


def test_figures_under_a_cpu_limit_are_said_to_be_of_that_limit():
    start = limited(
        sample_start(), n_cpu_periods=(10, 10), n_throttled=(0, 9), throttled_s=(0.0, 1.5)
    )
    [told] = caveat.window_caveats([start])
    assert told.kind == "cpu_limit"
    n_windows = sum(window.arm == 1 for window in start.windows)
    assert told.message.startswith("the server had used up its CPU limit in 0 %, 90 % of the limit")
    assert f"{1.5 * n_windows:.2f} s of CPU time" in told.message


def test_a_cpu_limit_that_hardly_ever_is_met_is_no_doubt():
    start = limited(sample_start(), n_cpu_periods=(500, 500), n_throttled=(0, 1))
    assert caveat.window_caveats([start]) == ()


def test_a_memory_limit_that_files_fill_is_told():
    [told] = caveat.window_caveats([limited(sample_start(), n_at_memory_limit=(0, 600))])
    assert told.kind == "memory_limit"
    assert "the kernel took pages of files back from it" in told.message


def test_what_has_left_a_servers_tree_is_named_with_its_url():
    left = ("agent (7)", "agent (8)")
    found = caveat.outside_tree([("http://a/", ()), ("http://b/", left[:1]), ("http://c/", left)])
    assert [each.message for each in found] == [
        "agent (7) of the unit of http://b/ is not below its first process, and not in its CPU per "
        "request",
        "agent (7), agent (8) of the unit of http://c/ are not below its first process, and not in "
        "its CPU per request",
    ]
