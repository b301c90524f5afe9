"""A machine's card is taken once in a boot, and kept."""

import pytest
from msgspec import structs

from httpdyno.host.own_files import data_folder
from httpdyno.model import MachineCard
from httpdyno.telemetry import host
from httpdyno.telemetry.host import card_of_boot, fresh_card, known_card

CARD = MachineCard(
    stat_s=8e-7, fork_s=4e-4, switch_s=3e-6, copy_bytes_per_s=6e9, round_trips_per_s=3e4
)
RATE_PER_S = 5e4


def rate() -> float:
    return RATE_PER_S


@pytest.fixture(autouse=True)
def taken(monkeypatch):
    """Cards that differ each time one is taken, and how many were."""
    cards: list[MachineCard] = []

    def take(requests_per_s: float | None) -> MachineCard:
        fork_s = CARD.fork_s * (1 + len(cards))
        cards.append(structs.replace(CARD, fork_s=fork_s, requests_per_s=requests_per_s))
        return cards[-1]

    monkeypatch.setattr(host, "machine_card", take)
    return cards


def test_one_is_taken_and_then_kept_with_the_time_it_is_of(taken):
    assert known_card() is None
    first = card_of_boot(rate)
    assert known_card() == first
    assert (first.card, len(taken)) == (taken[0], 1)
    assert first.taken_at.endswith("+00:00")
    assert card_of_boot(rate) == first
    assert len(taken) == 1


def test_a_fresh_one_takes_the_place_of_what_was_kept(taken):
    card_of_boot(rate)
    assert fresh_card(rate).card == taken[1]
    assert card_of_boot(rate).card == taken[1]


def test_one_without_its_requests_is_taken_again(taken):
    assert fresh_card(lambda: None).card.requests_per_s is None
    assert card_of_boot(rate).card.requests_per_s == RATE_PER_S
    assert card_of_boot(rate).card == taken[1]


@pytest.mark.parametrize(
    "of_another", [{"boot": "another"}, {"n_cpus": 4096}, {"version": "0.0.0"}]
)
def test_one_of_another_boot_of_other_cores_or_taken_otherwise_is_not_used(
    monkeypatch, taken, of_another
):
    now = host.circumstances()
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(host, "circumstances", lambda: structs.replace(now, **of_another))
        card_of_boot(rate)
    assert known_card() is None
    monkeypatch.setattr(host, "machine_card", lambda _rate: CARD)
    assert card_of_boot(rate).card == CARD


@pytest.mark.parametrize("what_is_there", [b"nonsense", b"{}", b""])
def test_a_file_that_is_none_is_as_good_as_no_file(taken, what_is_there):
    data_folder().mkdir(parents=True)
    (data_folder() / "machine.json").write_bytes(what_is_there)
    assert card_of_boot(rate).card == taken[0]
    assert card_of_boot(rate).card == taken[0]


def test_where_nothing_can_be_kept_there_is_a_card_all_the_same(taken):
    data_folder().write_text("no folder")
    assert card_of_boot(rate).card == taken[0]
