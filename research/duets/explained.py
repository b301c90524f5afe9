"""How much of a log ratio's spread covariates take away from starts that they were not fitted to.

For each start in turn, the coefficients come from all others: what is won in that way is not a fit
to noise. There is no constant term, so a covariate that does not differ between the arms of a
start corrects nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from benches.engine.interval import Estimate, Floats
from benches.power.work.record import Window
from research.duets.record import Part
from research.duets.spread import FEWEST, spread_ratio

MAX_OTHERS_CORES = 0.3
"""A window in which others used more of the machine is left out by the rule, and so is its block:
/proc/stat counts in hundredths of a second, a fifth of a short window."""
MAX_STEAL_CORES = 0.02

SETS: dict[str, tuple[str, ...]] = {
    "client": ("client",),
    "known work": ("work", "work_delay"),
    "host": ("others", "steal"),
    "waiting": ("wait",),
    "all": ("client", "work", "work_delay", "others", "steal", "wait"),
}
"""Chosen before any data was seen. What the server waits for is apart from what the host took: a
server of two processes on one core waits for itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Explained:
    """What a set of covariates took away of the spread."""

    r_squared: float
    """Of blocks, fitted to all of them: an upper bound."""
    between_blocks: float
    """Root mean square with the correction over without it, of blocks of starts not fitted to."""
    between_starts: Estimate
    """The same of starts' means."""


def covariates(part: Part, names: Sequence[str]) -> Floats:
    """Return how covariates differ between the arms of each block; (n_blocks, n_names)."""
    pairs = zip(part.arm(0), part.arm(1), strict=True)
    rows = [[_value(name, b) - _value(name, a) for name in names] for a, b in pairs]
    return np.array(rows, dtype=float).reshape(-1, len(names))


def _value(name: str, window: Window) -> float:
    if name == "client":
        return math.log(window.client_cpu_s / window.n_right) if window.client_cpu_s else 0.0
    if name == "work":
        return math.log(window.work_cpu_s) if window.work_cpu_s else 0.0
    if name == "work_delay":
        return math.log(window.work_wall_s / window.work_cpu_s) if window.work_cpu_s else 0.0
    taken_s = {"others": window.others_s, "steal": window.steal_s, "wait": window.wait_s}[name]
    return taken_s / window.total_s


def is_quiet(window: Window) -> bool:
    """Return whether the rule keeps a window: by what others used alone, not by what it shows."""
    return (
        window.others_s <= MAX_OTHERS_CORES * window.total_s
        and window.steal_s <= MAX_STEAL_CORES * window.total_s
    )


def quiet_blocks(part: Part) -> list[bool]:
    """Return of each block whether both of its windows were quiet; (n_blocks,)."""
    return [is_quiet(a) and is_quiet(b) for a, b in zip(part.arm(0), part.arm(1), strict=True)]


def explained(errors: Sequence[Floats], differences: Sequence[Floats]) -> Explained | None:
    """Return what covariates take away; None for too few starts.

    Args:
        errors: Of each start, its blocks' log ratios less the truth; n_starts × (n_blocks,).
        differences: Of each start, its blocks' covariates; n_starts × (n_blocks, n_names).
    """
    if len(errors) < FEWEST:
        return None
    y, x = np.concatenate(errors), np.concatenate(differences)
    left = y - x @ _coefficients(x, y)
    plain, corrected, blocks = [], [], []
    for held_out, (start_y, start_x) in enumerate(zip(errors, differences, strict=True)):
        others = [index for index in range(len(errors)) if index != held_out]
        coefficients = _coefficients(
            np.concatenate([differences[index] for index in others]),
            np.concatenate([errors[index] for index in others]),
        )
        rest = start_y - start_x @ coefficients
        blocks.append(rest)
        plain.append(float(start_y.mean()))
        corrected.append(float(rest.mean()))
    all_left = np.concatenate(blocks)
    return Explained(
        r_squared=1 - float(left @ left) / float(y @ y),
        between_blocks=math.sqrt(float(all_left @ all_left) / float(y @ y)),
        between_starts=spread_ratio(np.array(corrected), np.array(plain)),
    )


def kept_alone(errors: Sequence[Floats], kept: Sequence[Sequence[bool]]) -> Estimate | None:
    """Return what is left of the spread of starts' means where only quiet blocks count.

    A start without any quiet block keeps all of them: it cannot be measured again here.
    """
    if len(errors) < FEWEST:
        return None
    plain = np.array([row.mean() for row in errors])
    quiet = np.array(
        [
            row[np.array(mask)].mean() if any(mask) else row.mean()
            for row, mask in zip(errors, kept, strict=True)
        ]
    )
    return spread_ratio(quiet, plain)


def _coefficients(x: Floats, y: Floats) -> Floats:
    # Columns differ in scale by orders of magnitude; the smallest-norm solution leaves out what
    # never differs, such as steal on a machine that has none.
    scale = np.sqrt((x**2).mean(axis=0))
    scale[scale == 0] = 1.0
    solved: Floats = np.linalg.lstsq(x / scale, y, rcond=None)[0] / scale
    return solved
