"""A site whose requests take a known amount of work: the configuration's, or what `/?n` asks for.

Its answer does not tell how much: configurations are compared that answer alike.
Two amounts of the same process differ by the work alone; two processes may differ by more.
"""

import os
from collections.abc import Callable

UNITS = int(os.environ["BURN_UNITS"])


def application(
    environ: dict[str, str], start_response: Callable[[str, list[tuple[str, str]]], object]
) -> list[bytes]:
    """Work, then answer."""
    total = 0
    for number in range(int(environ["QUERY_STRING"] or UNITS)):
        total += number * number % 7
    body = b"%12d\n" % (total >= 0)
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
