"""What an error says with its causes, for `pytest.raises(…, check=says("…"))`."""

import re
from collections.abc import Callable

from httpdyno.errors import HttpdynoError
from httpdyno.report.shared.message import error_text


def says(pattern: str) -> Callable[[HttpdynoError], bool]:
    """Return whether an error's words, as people read them, have this pattern in them."""
    return lambda error: re.search(pattern, error_text(error)) is not None
