"""The verdict on looks of real servers whose limit is known, and on what is not enough."""

import pytest
from msgspec import structs
from tests.advice.bottleneck_cases import BUILT, HEALTHY, KEPT

from httpdyno.advice.bottleneck import answer_split, bottleneck, differences, with_own_words
from httpdyno.model import LogKind, LogLines, Look, QueueSeen

LOOKED_AT = [each for each in KEPT if each.look is not None]


def said(kept):
    assert kept.look is not None
    return bottleneck(kept.look).limit


@pytest.mark.parametrize("kept", LOOKED_AT, ids=[each.name for each in LOOKED_AT])
def test_no_look_at_a_known_server_has_a_wrong_word(kept):
    found = bottleneck(kept.look)
    assert found.limit in {*kept.accepted, "unknown"}, found.reason
    assert found.reason


def test_most_are_named():
    named = [each for each in BUILT if said(each) in each.accepted]
    assert len(named) >= 12
    healthy = [each for each in HEALTHY if said(each) in each.accepted]
    assert len(healthy) >= 20


@pytest.mark.parametrize("kept", LOOKED_AT, ids=[each.name for each in LOOKED_AT])
def test_few_samples_and_no_answers_say_nothing(kept):
    assert bottleneck(structs.replace(kept.look, n_samples=4)).limit == "unknown"
    assert bottleneck(structs.replace(kept.look, answers=0.0)).limit == "unknown"


def test_workers_that_all_wait_for_a_backend_while_requests_wait_too_are_told_as_either():
    look = Look(
        seconds=1.0,
        n_samples=20,
        workers=4.0,
        doing={"backend": 4.0},
        backends={"127.0.0.1:5432": 4.0},
        cpu_s=0.1,
        cpus=2.0,
        host_cpus=2,
        host_busy=0.3,
        answers=100.0,
        clients=16.0,
        client_limit="server",
    )
    found = bottleneck(look)
    assert found.limit == "unknown"
    assert "127.0.0.1:5432" in found.reason
    alone = bottleneck(structs.replace(look, clients=4.0))
    assert (alone.limit, alone.evidence["backend_workers"]) == ("backend", 4.0)


def test_cores_that_server_and_client_use_up_together_are_the_limit_and_those_of_others_are_not():
    look = Look(
        seconds=1.0,
        n_samples=14,
        workers=2.0,
        doing={"running": 1.6, "idle": 0.4},
        cpu_s=1.0,
        cpus=2.0,
        host_cpus=2,
        host_busy=2.0,
        answers=1000.0,
        clients=16.0,
        client_cpu_s=0.9,
        client_limit="server",
    )
    assert bottleneck(look).limit == "cpu"
    assert bottleneck(structs.replace(look, client_cpu_s=0.1)).limit == "unknown"


BEHIND = Look(
    seconds=1.0,
    n_samples=20,
    workers=8.0,
    doing={"client_read": 6.7, "idle": 1.3},
    cpu_s=0.1,
    cpus=1.0,
    host_cpus=2,
    host_busy=1.1,
    answers=350.0,
    clients=7.8,
    client_cpu_s=1.0,
    client_lost_ratio=0.0,
    client_limit="client_cpu",
)


@pytest.mark.parametrize("limit", ["client_cpu", "client_schedule"])
def test_a_client_whose_cores_others_took_is_not_the_limit(limit):
    look = structs.replace(BEHIND, client_limit=limit)
    assert bottleneck(look).limit == "load_generator"
    taken = structs.replace(look, host_busy=2.0, client_cpu_s=0.3, client_lost_ratio=0.7)
    found = bottleneck(taken)
    assert found.limit == "unknown"
    assert found.evidence["others_cores"] == pytest.approx(1.6)
    assert "others took 1.6 of 2 cores" in found.reason
    # They ran beside it, and it lost nothing by them; where that is not known, it may have.
    assert bottleneck(structs.replace(look, host_busy=2.0)).limit == "load_generator"
    unsure = structs.replace(look, host_busy=2.0, client_lost_ratio=None)
    assert bottleneck(unsure).limit == "unknown"
    # A quota took it, and nobody else ran.
    quota = structs.replace(look, host_busy=0.4, client_cpu_s=0.3, client_lost_ratio=0.7)
    assert bottleneck(quota).limit == "load_generator"


def test_a_client_without_open_files_is_the_limit_whatever_others_take():
    look = structs.replace(BEHIND, client_limit="descriptors", host_busy=2.0, client_lost_ratio=0.7)
    assert bottleneck(look).limit == "load_generator"


def test_a_full_queue_is_the_servers_own_or_it_is_not_told():
    look = structs.replace(
        BEHIND,
        host_busy=0.4,
        client_cpu_s=0.2,
        client_limit="network",
        overflows=30,
        queues=(QueueSeen(address="127.0.0.1:80", backlog=16, mean=0.5, most=16),),
    )
    assert bottleneck(structs.replace(look, doing={"idle": 8.0})).limit == "listen_queue"
    empty = (QueueSeen(address="127.0.0.1:80", backlog=16, mean=0.1, most=3),)
    assert bottleneck(structs.replace(look, doing={"idle": 8.0}, queues=empty)).limit == "unknown"
    assert bottleneck(structs.replace(look, doing={"idle": 8.0}, queues=())).limit == "listen_queue"


STARVED = Look(
    seconds=1.0,
    n_samples=20,
    workers=4.0,
    doing={"sleep": 4.0},
    cpu_s=0.1,
    cpus=2.0,
    host_cpus=2,
    host_busy=0.3,
    answers=400.0,
    clients=16.0,
    client_limit="server",
)
FULL = LogLines(
    n_lines=1,
    kinds=(
        LogKind(
            form="AH00161: server reached MaxRequestWorkers setting, consider raising it",
            example="AH00161: server reached MaxRequestWorkers setting, consider raising it",
            count=1,
            level="error",
        ),
    ),
)


def test_a_servers_own_word_is_told_beside_too_few_workers_and_names_no_limit():
    found = with_own_words(bottleneck(STARVED), FULL)
    assert found.limit == "too_few_workers"
    assert found.reason.endswith('its own log says "server reached MaxRequestWorkers"')
    idle = bottleneck(structs.replace(STARVED, doing={"idle": 3.0, "running": 1.0}, clients=1.0))
    assert with_own_words(idle, FULL) == idle
    quiet = bottleneck(STARVED)
    assert with_own_words(quiet, LogLines(n_lines=0)) == with_own_words(quiet, None) == quiet


def time_of(**changes):
    return bottleneck(structs.replace(STARVED, **changes)).answer_time


def test_an_answer_has_its_time_at_a_worker_and_at_the_client():
    time = time_of()
    assert time is not None
    assert (time.worker_s, time.client_s) == (0.01, 0.04)
    assert sum(time.split.values()) == pytest.approx(time.worker_s)


def test_a_worker_that_waits_for_a_silent_client_is_at_no_request():
    time = time_of(doing={"client_read": 3.0, "backend": 1.0})
    assert time is not None
    assert (time.worker_s, time.client_s) == (0.0025, 0.04)


def test_an_answers_time_at_its_worker_is_divided_where_enough_was_seen():
    doing = {"client_read": 1.0, "backend": 2.25, "running": 0.75}
    time = time_of(doing=doing, n_samples=10)
    assert time is not None
    assert time.split == pytest.approx(
        {"backend": 0.75 * time.worker_s, "running": 0.25 * time.worker_s}
    )
    told = "at the worker it is waiting for a backend 75 %, on a CPU or ready for one 25 %"
    assert answer_split(time) == told
    assert answer_split(time_of(doing={"running": 4.0}, clients=4.0)).endswith(
        "it is on a CPU or ready for one"
    )
    few = time_of(doing=doing, n_samples=9)
    assert few is not None
    assert few.split == {}
    assert answer_split(few) == answer_split(None) == ""


@pytest.mark.parametrize(
    "changes",
    [
        # An event loop that runs, with all connections accepted; and one with time to spare.
        {"doing": {"running": 4.0}, "connections": {"established": 16.0}},
        {"doing": {"running": 4.0}},
        {"doing": {"running": 1.0, "idle": 3.0}},
        # A proxy and what is behind it are both at a request, so are CGI and its parent.
        {"clients": 2.0},
        {"births": 400},
        {"doing": {"client_read": 4.0}},
    ],
)
def test_where_requests_and_workers_are_not_one_to_one_nothing_is_told(changes):
    assert time_of(**changes) is None


@pytest.mark.parametrize(
    "changes",
    [
        # As many are accepted as there are workers: the others wait in the queue.
        {
            "connections": {"established": 16.0},
            "queues": (QueueSeen(address="127.0.0.1:1", backlog=100, mean=12.0, most=12),),
        },
        {"clients": 4.0},
    ],
)
def test_a_worker_that_only_runs_is_told_of_where_it_must_have_one_request(changes):
    assert time_of(doing={"running": 4.0}, **changes) is not None


@pytest.mark.parametrize("kept", LOOKED_AT, ids=[each.name for each in LOOKED_AT])
def test_no_answer_of_a_known_server_takes_longer_than_its_client_saw(kept):
    time = bottleneck(kept.look).answer_time
    has_one_each = kept.name in {
        *("cpu", "too_few_workers", "backend", "slow_clients", "disk"),
        *("memory", "lock", "gunicorn sync flat out, 11 users"),
    }
    assert (time is not None) == has_one_each
    assert time is None or 0 < time.worker_s <= time.client_s


@pytest.mark.parametrize(("n", "times"), [(0, "0 times"), (1, "once"), (4, "4 times")])
def test_how_often_it_was_looked_at_is_said(n, times):
    found = bottleneck(Look(seconds=0.7, n_samples=n, answers=1.0))
    assert found.reason == f"it cannot be told: it was looked at {times}, which is too few"


TWO_OF_EIGHT = structs.replace(
    STARVED, doing={"sleep": 2.8, "running": 1.2}, host_cpus=8, host_busy=2.1, shared_cpus=2.0
)


def test_cores_that_server_and_client_share_are_used_up_by_both_on_a_machine_that_idles():
    # `docker run --cpus 2` or `taskset --cpu-list 0,1`: the other six are nobody's here.
    full = structs.replace(TWO_OF_EIGHT, cpu_s=1.2, client_cpu_s=0.8)
    found = bottleneck(full)
    assert found.limit == "cpu"
    assert "of 2.0 that they share 2.0" in found.reason
    # The same by others who are in there too.
    others = structs.replace(full, cpu_s=0.2, client_cpu_s=0.1, shared_busy=1.9)
    assert bottleneck(others).limit == "unknown"
    # Between used up and left nothing is said, whatever they wait for.
    for doing in (full.doing, {"backend": 3.0, "running": 1.0}, {"lock": 3.0, "running": 1.0}):
        for changes in ({"cpu_s": 1.0, "client_cpu_s": 0.7}, {"shared_busy": 1.7}):
            look = structs.replace(TWO_OF_EIGHT, doing=doing, **changes)
            assert bottleneck(look).limit == "unknown"
    left = structs.replace(TWO_OF_EIGHT, cpu_s=0.3, client_cpu_s=0.1, shared_busy=0.5)
    assert bottleneck(left).limit == "too_few_workers"


HELD = structs.replace(STARVED, doing={"client_read": 4.0}, clients=12.0)
QUEUED = (QueueSeen(address="127.0.0.1:80", backlog=100, mean=12.0, most=12),)


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        # Four are kept and have no request; twelve wait in the queue.
        ({"connections": {"established": 16.0}}, "keep_alive"),
        ({"queues": QUEUED}, "keep_alive"),
        # Each of four is sending a large body, with KeepAlive off as with it.
        ({"connections": {"established": 16.0}, "clients": 16.0}, "unknown"),
        ({"queues": QUEUED, "clients": 16.0}, "unknown"),
        # Answered, and closed by the server, which reads until the client closes too.
        ({"connections": {"established": 12.0, "fin-wait-2": 4.0}}, "unknown"),
        ({"connections": {"established": 12.0, "fin-wait-1": 4.0}, "clients": 16.0}, "unknown"),
    ],
)
def test_workers_that_read_are_held_by_kept_connections_only_where_so_many_have_no_request(
    changes, limit
):
    found = bottleneck(structs.replace(HELD, **changes))
    assert found.limit == limit
    is_closing = "fin-wait" in str(changes)
    assert ("(4.0 connections are closing)" in found.reason) is is_closing


CLOSED = {"established": 12.0, "fin-wait-1": 4.0}


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"connections": CLOSED}, "slow_clients"),
        # One of four may be at another: at one that is accepted, or at one whose client has all.
        ({"connections": CLOSED | {"established": 13.0}}, "slow_clients"),
        ({"connections": CLOSED | {"fin-wait-2": 2.0}}, "unknown"),
        ({"connections": CLOSED | {"established": 14.0}}, "unknown"),
        # Two write, on connections that are open, and two have written.
        (
            {
                "connections": {"established": 14.0, "fin-wait-1": 2.0},
                "doing": {"client_write": 2.0, "client_read": 2.0},
            },
            "slow_clients",
        ),
    ],
)
def test_who_lingers_over_a_close_is_held_by_a_client_that_has_not_taken_its_answer(changes, limit):
    held = structs.replace(HELD, queues=QUEUED, clients=16.0)
    found = bottleneck(structs.replace(held, **changes))
    assert found.limit == limit
    if limit == "slow_clients":
        n = found.evidence["closing_workers"]
        assert f"({n:.1f} of them are closing the connection)" in found.reason


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
    assert "what workers wait for: not visible without root" in found.reason
    seen = structs.replace(UNSEEN, doing={"sleep": 1.9, "running": 0.1}, hidden=())
    assert bottleneck(seen).limit == "too_few_workers"


@pytest.mark.parametrize(
    ("workers", "doing", "said"),
    [
        (0.0, {}, "none of its processes was seen"),
        (
            2.0,
            {"zombie": 2.0},
            "all of its processes had ended (2.0), and none had taken their place yet",
        ),
    ],
)
def test_of_a_server_of_which_no_process_was_seen_nothing_is_said(workers, doing, said):
    found = bottleneck(structs.replace(UNSEEN, workers=workers, doing=doing, hidden=()))
    assert (found.limit, found.reason) == ("unknown", f"it cannot be told: {said}")


def test_a_look_at_workers_that_have_all_ended_tells_of_no_difference_but_counted_calls():
    before = structs.replace(
        UNSEEN, read_calls=900, births=5, hidden=(), calls={"open": 28.0, ".htaccess": 3.0}
    )
    ended = structs.replace(
        before, doing={"zombie": before.workers}, read_calls=0, births=0, calls={"open": 28.0}
    )
    for pair in ((before, ended), (ended, before)):
        (found,) = differences(*pair)
        assert found.name == "opens of .htaccess for an answer"


@pytest.mark.parametrize(
    ("ended", "is_told"), [({}, True), ({"deaths": 1}, False), ({"doing": {"zombie": 1.0}}, False)]
)
def test_what_processes_that_ended_did_last_is_in_no_figure_of_a_difference(ended, is_told):
    after = structs.replace(UNSEEN, write_calls=240, read_bytes=400_000, hidden=())
    before = structs.replace(after, write_calls=120, read_bytes=800_000, **ended)
    names = {"write calls of an answer", "read from disks for an answer"}
    for pair in ((before, after), (after, before)):
        assert names <= {each.name for each in differences(*pair)} or not is_told
        assert is_told or not names & {each.name for each in differences(*pair)}


def test_a_queue_whose_length_is_not_known_is_not_said_to_hold_none():
    look = structs.replace(UNSEEN, doing={"idle": 1.9, "running": 0.1}, overflows=50)
    found = bottleneck(look)
    assert found.limit == "listen_queue"
    assert "holds" not in found.reason
    assert "backlog" not in found.evidence


def test_processes_that_came_and_went_unseen_are_not_denied():
    # Each answer of this server takes a process of its own: looks see half of them.
    [look] = [each.look for each in BUILT if each.name == "spawning" and each.look is not None]
    assert "at least" in bottleneck(look).reason


@pytest.mark.parametrize(
    ("births", "forks", "is_each"), [(40, 130, True), (40, 60, False), (10, 130, False)]
)
def test_processes_that_looks_missed_are_named_where_the_machine_began_as_many(
    births, forks, is_each
):
    [look] = [each.look for each in BUILT if each.name == "spawning" and each.look is not None]
    missed = structs.replace(look, births=births, deaths=births, host_forks=forks, answers=120.0)
    assert (bottleneck(missed).limit == "spawning") is is_each


@pytest.mark.parametrize(("zombies", "is_told"), [(0.4, True), (1.5, True), (3.0, False)])
def test_cpu_time_of_the_dead_is_told_where_they_do_not_wait_long_for_their_parent(
    zombies, is_told
):
    """Apache's looks once a second: a short look has all of it, or none, as it happens to lie."""
    after = structs.replace(STARVED, births=12, deaths=12, spawn_cpu_s=0.05)
    doing = {"sleep": 4.0, "zombie": zombies}
    before = structs.replace(after, workers=4.0 + zombies, doing=doing, spawn_cpu_s=0.1)
    name = "CPU time of an answer in processes that began and ended meanwhile"
    assert (name in {each.name for each in differences(before, after)}) is is_told
    found = bottleneck(before)
    assert ("was of those that began and ended meanwhile" in found.reason) is is_told
    assert ("spawn_cpu_ratio" in found.evidence) is is_told


def test_cpu_time_of_processes_that_ended_is_not_said_to_be_none_where_it_is_not_known():
    dying = structs.replace(STARVED, births=12, deaths=12, spawn_cpu_s=0.05)
    found = bottleneck(dying)
    assert (found.limit, found.evidence["spawn_cpu_ratio"]) == ("spawning", 0.5)
    assert "50 % of the server's CPU time" in found.reason
    unknown = bottleneck(structs.replace(dying, spawn_cpu_s=None))
    assert unknown.limit == "spawning"
    assert "CPU time" not in unknown.reason
    assert "spawn_cpu_ratio" not in unknown.evidence


def test_a_few_pages_that_somebody_read_back_from_swap_do_not_make_memory_short():
    # Each answer reads a page of a file that is mapped; 3 pages are another program's.
    mapped = structs.replace(STARVED, doing={"disk": 4.0}, major_faults=400, swap_ins=3)
    assert bottleneck(mapped).limit == "disk"
    found = bottleneck(structs.replace(mapped, swap_ins=400))
    assert found.limit == "memory"
    assert "400 pages came back from swap" in found.reason


def test_workers_that_wait_for_what_they_share_are_not_said_to_be_too_few():
    mixed = structs.replace(
        STARVED,
        doing={"backend": 1.6, "lock": 1.2, "sleep": 1.2},
        backends={"127.0.0.1:5432": 1.6},
    )
    found = bottleneck(mixed)
    assert (found.limit, found.evidence) == (
        "unknown",
        {"backend_workers": 1.6, "lock_workers": 1.2},
    )
    assert "(1.6 for 127.0.0.1:5432, 1.2 for a lock)" in found.reason
    # Most wait each for itself, or compute.
    for doing in ({"backend": 1.6, "sleep": 2.4}, {"running": 3.6, "disk": 0.4}):
        assert bottleneck(structs.replace(mixed, doing=doing)).limit == "too_few_workers"
