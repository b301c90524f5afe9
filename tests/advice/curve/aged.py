"""Workers whose truth is known: sizes as they serve, in whole steps of the allocator."""

import numpy as np

from httpdyno.advice.curve_fit import Life

PAGE = 4096
MIB = 1 << 20


def aged(  # noqa: PLR0913 - what a worker may do, each of it by itself
    rng: np.random.Generator,
    *,
    n_workers: int = 4,
    n_requests: float = 3000.0,
    n_readings: int = 60,
    leak: float = 0.0,
    unshared: float = 0.0,
    n_scale: float = 100.0,
    made: float = 0.0,
    step: float = PAGE,
    counted: float = 0.02,
) -> list[Life]:
    """Draw workers of one parent, which stand at one place of the allocator's steps.

    Args:
        rng: Draws when they are read, and how many requests each serves.
        n_workers: Units.
        n_requests: That each serves, the mean.
        n_readings: Of each.
        leak: Bytes a request.
        unshared: Bytes that turn from shared to private, with `n_scale`.
        n_scale: Requests.
        made: Bytes times the logarithm of requests: fragmentation, largest requests so far.
        step: In which new memory comes, the whole of it touched.
        counted: Relative error of the count of requests.
    """
    phase, lives = rng.uniform(0, step), []
    for _ in range(n_workers):
        n = np.sort(rng.uniform(0, n_requests * rng.uniform(0.85, 1.15), n_readings))
        n[0] = 0
        new = np.floor((leak * n + made * np.log1p(n / 20) + phase) / step) * step
        turned = np.floor(unshared * -np.expm1(-n / n_scale) / PAGE) * PAGE
        seen = np.maximum.accumulate(n * (1 + rng.normal(0, counted, n_readings)))
        lives.append(
            Life(
                n_requests=seen.tolist(),
                private_bytes=(MIB + new + turned).tolist(),
                resident_bytes=(30 * MIB + new).tolist(),
            )
        )
    return lives
