"""What is predicted of a pool, and what is said of a prediction. Pure."""

from dataclasses import dataclass

from httpdyno.telemetry.pool import RESERVE_RATIO, memory_bound

NEAR = 0.10


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """How many workers fit into so much memory, by several methods."""

    httpdyno: int
    """(T − P) / u, with what the kernel keeps for a worker in u."""
    plain: int
    """The same without that."""
    rss: int
    """T / the largest resident size."""
    apache2buddy: int
    """T / the largest writable private mapping size, as `pmap -d` sums it up."""


def predicted(limit, pool, largest_mapped):
    """Return the numbers, of a pool that is at its age.

    Args:
        limit: Bytes, all of which are to be used: the reserve of `inspect` is given back.
        pool: As `telemetry.pool` sums it up.
        largest_mapped: The most that is writable and private in a worker, in bytes.
    """
    whole = round(limit / (1 - RESERVE_RATIO))
    bound = memory_bound(pool, available_bytes=1 << 50, limit_bytes=whole)
    return Predicted(
        httpdyno=bound.n,
        plain=max(0, (limit - bound.once_bytes) // bound.each_bytes),
        rss=limit // pool.largest_rss_bytes,
        apache2buddy=limit // largest_mapped,
    )


def ratio(n, measured):
    """Return a prediction over what was measured."""
    return n / measured if measured else float("inf")


def is_right(n, measured):
    """Whether a prediction is at most what was measured, and within 10 % of it."""
    return n <= measured and ratio(n, measured) >= 1 - NEAR


def most_that_fit(fits, guess, *, most):
    """Return the largest number that fits, by halving, from a guess on.

    Args:
        fits: Whether so many do; that of a number below one that does is never asked.
        guess: Near it.
        most: Beyond which nobody looks.
    """
    low, high, n = 0, None, max(1, min(guess, most))
    step = max(1, n // 8)
    while high is None or high - low > 1:
        if fits(n):
            low = n
            if n == most:
                return n
        else:
            high = n
        if high is None:
            n, step = min(most, low + step), 2 * step
        elif low == 0:
            n, step = max(1, high - step), 2 * step
        else:
            n = (low + high) // 2
    return low


def mapped_bytes(maps):
    """Return what of /proc/PID/maps is writable and private, as `pmap -d` sums it up."""
    total = 0
    for line in maps.splitlines():
        span, rights = line.split()[:2]
        if rights[1] == "w" and rights[3] == "p":
            begin, end = (int(each, 16) for each in span.split("-"))
            total += end - begin
    return total
