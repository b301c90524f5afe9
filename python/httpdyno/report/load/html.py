"""One load test as an HTML file that needs no network and no script."""

from httpdyno.model import LoadOutcome


def load_html(outcome: LoadOutcome) -> str:
    """Return the report as one self-contained file."""
    raise NotImplementedError(outcome.url)
