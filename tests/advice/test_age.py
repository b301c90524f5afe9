"""A pool's memory at several ages, and how many of its workers would fit."""

import pytest
from msgspec import structs
from tests.rows import each_row

from httpdyno.advice.phase import ages
from httpdyno.model import ArmSummary, Configuration, Method, Phase, PhaseFigures, WorkersSeen

MIB = 2**20
NAMES = ("young", "grown", "old")
METHOD = Method(
    phases=tuple(Phase(name=name, n_requests=8) for name in NAMES),
    decides="old",
    warm_up_s=0.0,
    blocks_per_start=1,
)


def workers(private_mib, *, program="apache2", n=8):
    """Return some that have so much for themselves, one of them half as much again."""
    return WorkersSeen(
        program=program,
        n=float(n),
        median_uss_bytes=private_mib * MIB,
        largest_uss_bytes=private_mib * MIB * 3 // 2,
        youngest_s=1.0,
        median_age_s=2.0,
        oldest_s=3.0,
        once_bytes=24 * MIB,
        kernel_bytes=MIB // 2,
    )


def memory(private_mib, n_requests):
    """Return figures of a parent and eight workers."""
    return {
        "pss_bytes": (24.0 + 8 * private_mib) * MIB,
        "n_processes": 9.0,
        "requests_per_turn": float(n_requests),
        "workers": (workers(private_mib),),
    }


ARM = ArmSummary(
    configuration=Configuration(),
    phases={
        "young": PhaseFigures(**memory(1, 8)),
        "grown": PhaseFigures(**memory(10, 1_000)),
    },
    figures={"pss_bytes": memory(20, 4_000)["pss_bytes"]},
    **{name: each for name, each in memory(20, 4_000).items() if name != "pss_bytes"},
)


def test_each_age_has_what_was_answered_before_it_too():
    found = ages(METHOD, ARM)
    assert [(each.phase, each.n_requests) for each in found] == [
        ("young", 8),
        ("grown", 1_008),
        ("old", 5_008),
    ]


def test_as_many_workers_fit_as_take_no_more_than_the_room_were_all_as_large_as_the_largest():
    found = ages(METHOD, ARM)
    assert [each.once_bytes for each in found] == [24.5 * MIB] * 3
    assert [each.each_bytes for each in found] == [2 * MIB, 15.5 * MIB, 30.5 * MIB]
    assert [each.n_fit for each in found] == [499, 64, 32]
    for each in found:
        assert each.once_bytes is not None
        assert each.each_bytes is not None
        assert each.n_fit is not None
        whole = each.once_bytes + each.n_fit * each.each_bytes
        assert whole <= 2**30 < whole + each.each_bytes


def test_of_a_site_the_program_counts_that_has_the_most_for_itself_and_the_same_at_each_age():
    front = workers(1, program="nginx", n=9)

    def site(seen):
        return structs.replace(seen, workers=(front, *seen.workers))

    phases = {name: site(seen) for name, seen in ARM.phases.items()}
    found = ages(METHOD, structs.replace(site(ARM), phases=phases))
    assert [each.n_fit for each in found] == [499, 64, 32]


def test_each_age_has_what_its_phase_and_those_before_it_asked_for():
    assert [each.n_asked for each in ages(METHOD, ARM)] == [8, 16, 24]


def test_none_fits_where_what_is_there_once_is_more_than_the_room():
    large = structs.replace(workers(20), once_bytes=2**31)
    assert ages(METHOD, structs.replace(ARM, workers=(large,)))[-1].n_fit == 0


@pytest.mark.parametrize(
    "unknown", [(), (structs.replace(workers(10), once_bytes=None, kernel_bytes=0),)]
)
def test_where_workers_are_not_known_as_earlier_versions_stored_them_no_number_is_made(unknown):
    old = structs.replace(ARM.phases["grown"], workers=unknown)
    found = ages(METHOD, structs.replace(ARM, phases={**ARM.phases, "grown": old}))
    assert [each.n_fit for each in found] == [499, None, 32]
    assert (found[1].once_bytes, found[1].each_bytes) == (None, None)


def test_ages_end_where_memory_was_not_read():
    unread = structs.replace(ARM.phases["grown"], pss_bytes=None)
    found = ages(METHOD, structs.replace(ARM, phases={**ARM.phases, "grown": unread}))
    assert [each.phase for each in found] == ["young"]


@each_row(
    "method",
    [
        structs.replace(METHOD, phases=METHOD.phases[1:]),
        structs.replace(METHOD, phases=(*METHOD.phases[:2], Phase(name="old"))),
        # In its second turn a process is older than the phase.
        structs.replace(METHOD, blocks_per_start=2),
        # And after a warm-up in its first.
        structs.replace(METHOD, warm_up_s=0.5),
    ],
)
def test_other_phases_are_no_ages(method):
    assert ages(method, ARM) == ()
