"""A site whose requests take a known amount of work."""

import os

UNITS = int(os.environ["BURN_UNITS"])


def application(environ, start_response):
    """Work for as many units as the configuration says, then answer."""
    total = 0
    for number in range(UNITS):
        total += number * number % 7
    body = b"%d\n" % total
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
