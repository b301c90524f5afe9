"""The machine's card with all of its figures, of which one is of the load engine."""

import logging

from httpdyno.errors import EngineError
from httpdyno.load.loopback import loopback_requests_per_s
from httpdyno.telemetry.host import KeptCard, card_of_boot, fresh_card

logger = logging.getLogger(__name__)


def taken_anew() -> KeptCard:
    """Take a card and keep it; forks, so no other thread of this process may be at work."""
    return fresh_card(_requests_per_s)


def taken_in_boot() -> KeptCard:
    """Return the card that was taken last in this boot, or take one; forks as `taken_anew`."""
    return card_of_boot(_requests_per_s)


def _requests_per_s() -> float | None:
    try:
        return loopback_requests_per_s() or None
    except (EngineError, OSError) as error:
        # A card without one of its figures is no reason not to run a study.
        logger.info("requests over loopback cannot be measured: %s", error)
        return None
