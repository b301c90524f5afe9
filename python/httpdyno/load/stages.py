"""Rates that change, as people write them: `10s: 0/s..500/s, 30s: 500/s`."""

from httpdyno.errors import UsageError
from httpdyno.model import RateStage
from httpdyno.units import duration_s, rate_or_zero_per_s

_STAGES_HINT = "give times and rates: `10s: 0/s..500/s, 30s: 500/s`"


def stages_from(text: str) -> tuple[RateStage, ...]:
    """Return the stages in `10s: 0/s..500/s, 30s: 500/s, 10s: 500/s..0/s`.

    Raises:
        UsageError: Not stages, or a stage without a length.
    """
    return tuple(_stage(part.strip()) for part in text.split(","))


def _stage(text: str) -> RateStage:
    length, colon, rates = text.partition(":")
    if not colon:
        raise UsageError(f"the stage `{text}` is not a time and a rate", hint=_STAGES_HINT)
    first, dots, last = (part.strip() for part in rates.partition(".."))
    try:
        stage = RateStage(
            duration_s=duration_s(length),
            from_per_s=rate_or_zero_per_s(first),
            to_per_s=rate_or_zero_per_s(last if dots else first),
        )
    except UsageError as error:
        raise UsageError(f"in the stage `{text}` {error}", hint=_STAGES_HINT) from error
    if stage.duration_s == 0:
        raise UsageError(f"the stage `{text}` takes no time", hint=_STAGES_HINT)
    return stage
