"""A ratio of two figures, with what bounds it."""

from httpdyno.model.base import Record


class RatioInterval(Record, frozen=True):
    """Candidate over reference with an anytime-valid interval over starts; 1.0 is no difference."""

    ratio: float
    low: float
    """0 where the data bound nothing."""
    high: float
    """Infinity where the data bound nothing."""
    confidence: float
