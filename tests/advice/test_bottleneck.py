"""The verdict on looks of real servers whose limit is known, and on what is not enough."""

from msgspec import structs
from tests.advice.bottleneck_cases import BEHIND, BUILT, HEALTHY, LOOKED_AT, STARVED
from tests.rows import each_row

from httpdyno.advice.bottleneck import bottleneck, with_own_words
from httpdyno.model import LogKind, LogLines, Look, QueueSeen
from httpdyno.report.shared.message import text


def said(kept):
    assert kept.look is not None
    return bottleneck(kept.look).limit


@each_row("kept", LOOKED_AT, ids=[each.name for each in LOOKED_AT])
def test_no_look_at_a_known_server_has_a_wrong_word(kept):
    found = bottleneck(kept.look)
    assert found.limit in {*kept.accepted, "unknown"}, found.reason
    assert found.reason


def test_most_are_named():
    named = [each for each in BUILT if said(each) in each.accepted]
    assert len(named) >= 13
    healthy = [each for each in HEALTHY if said(each) in each.accepted]
    assert len(healthy) >= 20


@each_row("kept", LOOKED_AT, ids=[each.name for each in LOOKED_AT])
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
    assert "127.0.0.1:5432" in text(found.reason)
    alone = bottleneck(structs.replace(look, clients=4.0))
    assert (alone.limit, alone.evidence["backend_workers"]) == ("backend", 4.0)


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
    assert text(found.reason).endswith('its own log says "server reached MaxRequestWorkers"')
    idle = bottleneck(structs.replace(STARVED, doing={"idle": 3.0, "running": 1.0}, clients=1.0))
    assert with_own_words(idle, FULL) == idle
    quiet = bottleneck(STARVED)
    assert with_own_words(quiet, LogLines(n_lines=0)) == with_own_words(quiet, None) == quiet


@each_row(("n", "times"), [(0, "0 times"), (1, "once"), (4, "4 times")])
def test_how_often_it_was_looked_at_is_said(n, times):
    found = bottleneck(Look(seconds=0.7, n_samples=n, answers=1.0))
    assert text(found.reason) == f"it was sampled {times}, which is too few"


def test_a_few_pages_that_somebody_read_back_from_swap_do_not_make_memory_short():
    # Each answer reads a page of a file that is mapped; 3 pages are another program's.
    mapped = structs.replace(STARVED, doing={"disk": 4.0}, major_faults=400, swap_ins=3)
    assert bottleneck(mapped).limit == "disk"
    found = bottleneck(structs.replace(mapped, swap_ins=400))
    assert found.limit == "memory"
    assert "400 pages came back from swap" in text(found.reason)


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
    assert "(1.6 for 127.0.0.1:5432, 1.2 for a lock)" in text(found.reason)
    # Most wait each for itself, or compute.
    for doing in ({"backend": 1.6, "sleep": 2.4}, {"running": 3.6, "disk": 0.4}):
        assert bottleneck(structs.replace(mixed, doing=doing)).limit == "too_few_workers"
