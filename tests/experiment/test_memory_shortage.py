"""Whether a lack of memory is a configuration's own fault; what is in doubt is nobody's."""

from msgspec import structs
from tests.conformance.record import sample_start, sample_window
from tests.rows import each_row

from httpdyno.experiment.decide.warning import window_warnings
from httpdyno.experiment.trial.memory import blamed, is_short, memory_seen
from httpdyno.report.shared.message import text

MIB = 1 << 20
N_WINDOWS = 4
ROOM = 60.0 * MIB
"""That is left while all are up."""


def windows(start=0, arm=0, *, holds=100, n_short=N_WINDOWS, **short):
    """Return an arm's windows: of those that are short what is given, of the others nothing."""
    made = []
    for block in range(N_WINDOWS):
        window = sample_window(start=start, block=block, arm=arm)
        seen = structs.replace(
            window.telemetry,
            pss_bytes=None if holds is None or block < N_WINDOWS - 1 else holds * MIB,
            swapped_bytes=0,
            memory_wait_s=0.0,
        )
        if block < n_short:
            seen = structs.replace(seen, **short)
        made.append(structs.replace(window, telemetry=seen))
    return made


def swapping(**more):
    return windows(**({"swap_ins": 300, "major_faults": 200} | more))


def waiting(**more):
    return windows(**({"memory_wait_s": 0.1} | more))


def quiet(**more):
    return windows(**({"holds": 10} | more))


LARGE = {"holds": 1000}
"""MiB: with what is left and what the others hold it would still have too little."""
ALONE, NEXT = "n=64", "n=4"


@each_row(
    ("candidate", "reference", "is_blamed"),
    [
        (swapping(**LARGE), quiet(), True),
        (waiting(**LARGE), quiet(), True),
        # What comes back from swap is somebody else's where its processes had no faults.
        (swapping(major_faults=0, **LARGE), quiet(), False),
        (swapping(swap_ins=31, **LARGE), quiet(), False),
        (waiting(memory_wait_s=0.01, **LARGE), quiet(), False),
        # Once is an accident.
        (swapping(n_short=1, **LARGE), quiet(), False),
        (swapping(n_short=2, **LARGE), quiet(), True),
        # Both have it: the machine lacks memory.
        (swapping(**LARGE), swapping(holds=10), False),
        (swapping(**LARGE), waiting(holds=10), False),
        (swapping(**LARGE), waiting(holds=10, memory_wait_s=0.02), False),
        (swapping(**LARGE), waiting(holds=10, memory_wait_s=0.008), False),
        (swapping(**LARGE), waiting(holds=10, memory_wait_s=0.002), True),
        (swapping(swap_ins=4000, **LARGE), quiet(swap_ins=20, major_faults=20), True),
        # It would fit if the other one was not there.
        (swapping(holds=100), quiet(), False),
        (swapping(**LARGE), quiet(holds=900), False),
        # It holds little in memory, because the rest is in swap.
        (swapping(holds=100, swapped_bytes=900 * MIB), quiet(), True),
        # What nobody can read is no proof.
        (swapping(holds=None), quiet(), False),
        (swapping(**LARGE), quiet(holds=None), False),
        (quiet(holds=1000), quiet(), False),
    ],
)
def test_who_is_blamed(candidate, reference, is_blamed):
    seen = {ALONE: memory_seen(candidate), NEXT: memory_seen(reference)}
    assert [*blamed(seen, ROOM)] == [ALONE] * is_blamed


def test_one_that_stands_alone_is_compared_with_nobody():
    assert blamed({ALONE: memory_seen(swapping(**LARGE))}, ROOM) == {}


def test_all_levels_that_do_not_fit_are_blamed_and_those_beside_them_are_not():
    seen = {
        "8": memory_seen(quiet()),
        "32": memory_seen(quiet(holds=30)),
        "128": memory_seen(swapping(holds=100, swapped_bytes=3000 * MIB)),
        "256": memory_seen(swapping(holds=100, swapped_bytes=6000 * MIB)),
    }
    assert [*blamed(seen, ROOM)] == ["128", "256"]


def test_several_servers_of_one_configuration_are_as_large_as_the_largest_of_them():
    """And what the others of it hold would be free without them."""
    both = [*swapping(start=0, holds=500), *swapping(start=1, holds=400)]
    seen = memory_seen(both)
    assert (seen.holds_bytes, seen.all_bytes) == (500 * MIB, 900 * MIB)
    assert blamed({ALONE: seen, NEXT: memory_seen(quiet())}, ROOM) == {}
    one_unread = [*swapping(start=0), *swapping(start=1, holds=None)]
    assert memory_seen(one_unread).holds_bytes is None


def test_the_words_have_the_numbers():
    candidate = swapping(memory_wait_s=0.072, **LARGE)
    [why] = blamed({ALONE: memory_seen(candidate), NEXT: memory_seen(quiet())}, ROOM).values()
    assert text(why) == (
        "1,200 pages came back from swap and tasks waited for memory 20 % of the time in its "
        "windows: it needs more memory than there is, with 1,000 MiB where it may have 963 MiB"
    )


def start_of(*arms, statuses=("complete", "complete")):
    made = tuple(window for arm in arms for window in arm)
    return structs.replace(sample_start(), windows=made, statuses=statuses)


def test_a_lack_that_nobody_is_to_blame_for_is_a_doubt_of_the_figures():
    [told] = window_warnings([start_of(swapping(arm=0), waiting(arm=1))])
    assert told.code == "experiment.short_memory"
    assert text(told.reason).startswith(
        "in 8 of 8 windows memory was short (1,200 pages came back from swap and tasks waited for "
        "memory 14 % of the time), and no one configuration is proven to be the cause"
    )


def test_what_an_infeasible_one_lacked_is_its_own_and_no_doubt_of_the_other():
    swapped = start_of(quiet(arm=0), swapping(arm=1), statuses=("complete", "infeasible"))
    assert window_warnings([swapped]) == ()


def test_windows_that_an_earlier_version_stored_lacked_nothing():
    assert not is_short(sample_window())
    assert window_warnings([sample_start()]) == ()


def test_what_it_may_have_is_its_limit_where_the_study_sets_one():
    seen = {ALONE: memory_seen(swapping(holds=95)), NEXT: memory_seen(quiet())}
    assert blamed(seen, 1000.0 * MIB) == {}
    assert [*blamed(seen, 1000.0 * MIB, {ALONE: 100 * MIB, NEXT: None})] == [ALONE]
    assert blamed(seen, 1000.0 * MIB, {ALONE: 200 * MIB, NEXT: 100 * MIB}) == {}
