"""What a look could not see is neither named nor denied."""

import pytest
from msgspec import structs
from tests.advice.bottleneck_cases import BUILT, STARVED
from tests.rows import each_row

from httpdyno.advice.bottleneck import bottleneck, differences
from httpdyno.model import Look
from httpdyno.report.shared.message import text

UNSEEN = Look(
    seconds=1.0,
    n_samples=20,
    workers=2.0,
    doing={"other": 1.9, "running": 0.1},
    cpu_s=0.1,
    cpus=2.0,
    host_cpus=2,
    host_busy=0.3,
    answers=100.0,
    clients=16.0,
    client_limit="server",
    hidden=("what workers wait for: not visible without root",),
)


def test_workers_of_whom_nobody_knows_what_they_wait_for_are_not_too_few():
    found = bottleneck(UNSEEN)
    assert found.limit == "unknown"
    assert "what workers wait for: not visible without root" in text(found.reason)
    seen = structs.replace(UNSEEN, doing={"sleep": 1.9, "running": 0.1}, hidden=())
    assert bottleneck(seen).limit == "too_few_workers"


@pytest.mark.parametrize(
    ("workers", "doing", "said"),
    [
        (0.0, {}, "no process of it was seen that answers"),
        (
            2.0,
            {"zombie": 2.0},
            "all of its processes had ended (2.0), and none had taken their place yet",
        ),
    ],
)
def test_of_a_server_of_which_no_process_was_seen_nothing_is_said(workers, doing, said):
    found = bottleneck(structs.replace(UNSEEN, workers=workers, doing=doing, hidden=()))
    assert (found.limit, text(found.reason)) == ("unknown", said)


@each_row(
    ("births", "deaths", "limit"),
    [(3, 3, "spawning"), (1, 1, "spawning"), (0, 4, "unknown"), (4, 0, "unknown")],
)
def test_a_pool_whose_workers_end_before_they_are_seen_comes_and_goes(births, deaths, limit):
    # Who only went may have crashed, who only came may be the first.
    look = structs.replace(
        UNSEEN, workers=2.0, doing={"zombie": 1.98}, births=births, deaths=deaths, hidden=()
    )
    assert bottleneck(look).limit == limit
    assert bottleneck(structs.replace(look, clients=0.0)).limit == "unknown"
    # Once in a long look is no pool that comes and goes; and it is no client that fell short.
    assert bottleneck(structs.replace(look, seconds=100.0)).limit == "unknown"
    assert bottleneck(structs.replace(look, client_limit="descriptors")).limit == limit


def test_workers_are_not_too_few_where_others_have_ended_and_nobody_took_their_place():
    ended = structs.replace(STARVED, workers=7.2, doing={"sleep": 4.0, "zombie": 3.2}, deaths=2)
    found = bottleneck(ended)
    assert found.limit == "unknown"
    assert "3.2 more had ended" in text(found.reason)
    # One in a pool of many, and children that nobody will ever ask how they ended.
    one = structs.replace(ended, workers=4.8, doing={"sleep": 4.0, "zombie": 0.8})
    for other in (STARVED, one, structs.replace(ended, deaths=0)):
        assert bottleneck(other).limit == "too_few_workers"


def test_a_look_at_workers_that_have_all_ended_tells_of_no_difference_but_counted_calls():
    before = structs.replace(
        UNSEEN, read_calls=900, births=5, hidden=(), calls={"open": 28.0, ".htaccess": 3.0}
    )
    ended = structs.replace(
        before, doing={"zombie": before.workers}, read_calls=0, births=0, calls={"open": 28.0}
    )
    for pair in ((before, ended), (ended, before)):
        (found,) = differences(*pair)
        assert found.figure == "htaccess_opens"


@each_row(
    ("ended", "is_told"), [({}, True), ({"deaths": 1}, False), ({"doing": {"zombie": 1.0}}, False)]
)
def test_what_processes_that_ended_did_last_is_in_no_figure_of_a_difference(ended, is_told):
    after = structs.replace(UNSEEN, write_calls=240, read_bytes=400_000, hidden=())
    before = structs.replace(after, write_calls=120, read_bytes=800_000, **ended)
    names = {"write_calls", "read_bytes"}
    for pair in ((before, after), (after, before)):
        assert names <= {each.figure for each in differences(*pair)} or not is_told
        assert is_told or not names & {each.figure for each in differences(*pair)}


def test_a_queue_whose_length_is_not_known_is_not_said_to_hold_none():
    look = structs.replace(UNSEEN, doing={"idle": 1.9, "running": 0.1}, overflows=50)
    found = bottleneck(look)
    assert found.limit == "listen_queue"
    assert "holds" not in text(found.reason)
    assert "backlog" not in found.evidence


def test_processes_that_came_and_went_unseen_are_not_denied():
    # Each answer of this server takes a process of its own: looks see half of them.
    [look] = [each.look for each in BUILT if each.name == "spawning" and each.look is not None]
    assert "at least" in text(bottleneck(look).reason)


@each_row(("births", "forks", "is_each"), [(40, 130, True), (40, 60, False), (10, 130, False)])
def test_processes_that_looks_missed_are_named_where_the_machine_began_as_many(
    births, forks, is_each
):
    [look] = [each.look for each in BUILT if each.name == "spawning" and each.look is not None]
    missed = structs.replace(look, births=births, deaths=births, host_forks=forks, answers=120.0)
    assert (bottleneck(missed).limit == "spawning") is is_each


def test_an_account_that_has_all_of_the_dead_or_none_makes_no_verdict():
    prompt = structs.replace(
        STARVED, births=400, deaths=12, spawn_cpu_s=0.09, workers=20.0, doing={"sleep": 20.0}
    )
    late = structs.replace(prompt, doing={"sleep": 17.0, "zombie": 3.0})
    assert bottleneck(prompt).limit == "spawning"
    assert bottleneck(late).limit != "spawning"


@each_row(("zombies", "is_told"), [(0.4, True), (1.5, True), (3.0, False)])
def test_cpu_time_of_the_dead_is_told_where_they_do_not_wait_long_for_their_parent(
    zombies, is_told
):
    """Apache's looks once a second: a short look has all of it, or none, as it happens to lie."""
    after = structs.replace(STARVED, births=12, deaths=12, spawn_cpu_s=0.05)
    doing = {"sleep": 4.0, "zombie": zombies}
    before = structs.replace(after, workers=4.0 + zombies, doing=doing, spawn_cpu_s=0.1)
    name = "spawn_cpu_s"
    assert (name in {each.figure for each in differences(before, after)}) is is_told
    found = bottleneck(before)
    assert ("was of those that began and ended meanwhile" in text(found.reason)) is is_told
    assert ("spawn_cpu_ratio" in found.evidence) is is_told


def test_cpu_time_of_processes_that_ended_is_not_said_to_be_none_where_it_is_not_known():
    dying = structs.replace(STARVED, births=12, deaths=12, spawn_cpu_s=0.05)
    found = bottleneck(dying)
    assert (found.limit, found.evidence["spawn_cpu_ratio"]) == ("spawning", 0.5)
    assert "50 % of the server's CPU time" in text(found.reason)
    unknown = bottleneck(structs.replace(dying, spawn_cpu_s=None))
    assert unknown.limit == "spawning"
    assert "CPU time" not in text(unknown.reason)
    assert "spawn_cpu_ratio" not in unknown.evidence
