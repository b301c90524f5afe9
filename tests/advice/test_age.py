"""A pool's memory at several ages, and how many of its processes would fit."""

import pytest
from msgspec import structs

from httpdyno.advice.age import ages
from httpdyno.model import ArmSummary, Configuration, Method, Phase, PhaseFigures

MIB = 2**20
NAMES = ("young", "grown", "old")
METHOD = Method(
    phases=tuple(Phase(name=name, n_requests=8) for name in NAMES),
    decides="old",
    warm_up_s=0.0,
    blocks_per_start=1,
)


def memory(private_mib, n_requests):
    """Return figures of nine processes that share 24 MiB."""
    return {
        "pss_bytes": (24.0 + 9 * private_mib) * MIB,
        "uss_bytes_per_process": float(private_mib * MIB),
        "n_processes": 9.0,
        "requests_per_turn": float(n_requests),
    }


ARM = ArmSummary(
    configuration=Configuration(),
    phases={
        "young": PhaseFigures(**memory(1, 8)),
        "grown": PhaseFigures(**memory(10, 1_000)),
    },
    **memory(20, 4_000),
)


def test_each_age_has_what_was_answered_before_it_too():
    found = ages(METHOD, ARM)
    assert [(each.phase, each.n_requests) for each in found] == [
        ("young", 8),
        ("grown", 1_008),
        ("old", 5_008),
    ]


def test_as_many_processes_fit_as_take_no_more_than_the_room_with_what_they_share():
    found = ages(METHOD, ARM)
    assert [each.shared_bytes for each in found] == [24 * MIB] * 3
    assert [each.n_fit for each in found] == [1000, 100, 50]
    for each in found:
        assert each.shared_bytes is not None
        assert each.n_fit is not None
        whole = each.shared_bytes + each.n_fit * each.uss_bytes_per_process
        assert whole <= 2**30 < whole + each.uss_bytes_per_process


def test_each_age_has_what_its_phase_and_those_before_it_asked_for():
    assert [each.n_asked for each in ages(METHOD, ARM)] == [8, 16, 24]


def test_none_fits_where_what_is_shared_is_more_than_the_room():
    large = structs.replace(ARM, pss_bytes=2.0**31)
    assert ages(METHOD, large)[-1].n_fit == 0


def test_where_it_is_not_known_what_is_shared_no_number_is_made_of_it():
    alone = structs.replace(ARM.phases["grown"], n_processes=0.0)
    found = ages(METHOD, structs.replace(ARM, phases={**ARM.phases, "grown": alone}))
    assert (found[1].shared_bytes, found[1].n_fit) == (None, None)


def test_ages_end_where_memory_was_not_read():
    unread = structs.replace(ARM.phases["grown"], pss_bytes=None)
    found = ages(METHOD, structs.replace(ARM, phases={**ARM.phases, "grown": unread}))
    assert [each.phase for each in found] == ["young"]


@pytest.mark.parametrize(
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
