"""The metrics that a comparison may be decided by: a row each, and what works on all of them."""

from httpdyno.metrics.metric import Metric
from httpdyno.metrics.table import METRICS, named, of_ratio, sources

__all__ = ["METRICS", "Metric", "named", "of_ratio", "sources"]
