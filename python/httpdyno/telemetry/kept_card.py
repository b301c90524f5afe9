"""The machine's card, taken once in a boot and kept: each run of a study has it beside its result.

Taking one takes about a second, which is much beside a short run and nothing beside a day.
"""

import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypedDict

import msgspec

import httpdyno
from httpdyno.host.boot import boot_id
from httpdyno.host.data_folder import data_folder
from httpdyno.host.foreign_text import reason
from httpdyno.model import MachineCard, Record
from httpdyno.telemetry.machine_card import machine_card

logger = logging.getLogger(__name__)

_FILE = "machine.json"


class Circumstances(TypedDict):
    """What a card is of; under others it is taken again."""

    boot: str
    n_cpus: int
    """That this process may run on."""
    version: str
    """Of httpdyno: another one may take it otherwise."""


class KeptCard(Record, frozen=True):
    """A card, and when it was taken."""

    card: MachineCard
    taken_at: str
    """ISO 8601, UTC."""
    boot: str
    n_cpus: int
    version: str


RequestsPerS = Callable[[], float | None]
"""Measures how many of the smallest requests are answered here; None where that failed."""


def card_of_boot(requests_per_s: RequestsPerS) -> KeptCard:
    """Return the card that was taken last in this boot; take and keep one where there is none.

    It forks, so no other thread of this process may be at work.
    """
    kept = known_card()
    if kept is not None and kept.card.requests_per_s is not None:
        return kept
    return fresh_card(requests_per_s)


def known_card() -> KeptCard | None:
    """Return the card that was taken last in this boot; None where none is kept. It takes none."""
    kept, now = _kept(), circumstances()
    if kept is None or not kept.boot:  # a boot that is not shown may be any
        return None
    is_of_now = (kept.boot, kept.n_cpus, kept.version) == (*now.values(),)
    return kept if is_of_now else None


def fresh_card(requests_per_s: RequestsPerS) -> KeptCard:
    """Take a card, and keep it in the place of an earlier one; forks as `card_of_boot`."""
    taken_at = datetime.now(UTC).isoformat(timespec="seconds")
    fresh = KeptCard(card=machine_card(requests_per_s()), taken_at=taken_at, **circumstances())
    path = data_folder() / _FILE
    beside = path.with_name(f"{_FILE}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(msgspec.json.format(msgspec.json.encode(fresh)))
        beside.replace(path)
    except OSError as error:
        # The next run takes one again: a second is lost, and no result.
        logger.info("the machine's card is not kept in `%s`: %s", path, reason(error))
    return fresh


def circumstances() -> Circumstances:
    """Return what a card that is taken now is of."""
    return Circumstances(
        boot=boot_id(), n_cpus=len(os.sched_getaffinity(0)), version=httpdyno.__version__
    )


def _kept() -> KeptCard | None:
    try:
        return msgspec.json.decode((data_folder() / _FILE).read_bytes(), type=KeptCard)
    except (OSError, msgspec.MsgspecError):
        return None
