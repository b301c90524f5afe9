"""`--respawn`: what a worker's end and the next one's start cost, of rates or of a stored sweep."""

import math
from collections.abc import Sequence

from httpdyno.advice.formula import formulas
from httpdyno.advice.formula.evaluate import work_out
from httpdyno.cli.run_named import run_named
from httpdyno.errors import UsageError
from httpdyno.model import Respawn, Sweep
from httpdyno.store import Store


def respawn_cost(words: Sequence[str]) -> Respawn | None:
    """Return what respawning costs; None where nothing was said, or the rates tell none.

    Args:
        words: `N=RATE` as `httpdyno formula respawn` takes them, or `run:ID` of a stored sweep
            over the lives of workers.

    Raises:
        UsageError: They make no sense, or that run measured no such cost.
        StoreError: There is no such run.
    """
    if not words:
        return None
    run_id = run_named(words)
    if run_id is not None:
        return _stored(run_id)
    try:
        worked = work_out(formulas()["respawn"], {"seen": list(words)})
    except UsageError as error:
        text = str(error).replace("--seen", "--respawn")
        raise UsageError(text, hint=error.hint.replace("--seen", "--respawn")) from error
    figures = {each.name: each.value for each in worked.figures}
    if not math.isfinite(figures["spawn"]):
        return None
    return Respawn(serve_s=figures["serve"], spawn_s=figures["spawn"])


def _stored(run_id: str) -> Respawn:
    hint = (
        "name a run that swept how many requests a worker serves, such as one of `httpdyno study "
        "run respawn`, or give rates: `--respawn 20=8.9,5000=28`"
    )
    with Store.open() as store:
        # A load or a pair of turns has no outcome of a study.
        is_of_study = store.command(run_id) not in {"load", "turns"}
        outcome = store.outcome(run_id) if is_of_study else None
    if outcome is None or outcome.sweep is None:
        raise UsageError(f"run {run_id} is no sweep with a result", hint=hint)
    return _of(outcome.sweep, run_id, hint)


def _of(sweep: Sweep, run_id: str, hint: str) -> Respawn:
    pool = sweep.pool
    if pool is not None and pool.births is not None:
        return pool.births
    why = f": {pool.reason}" if pool is not None and pool.reason else ""
    raise UsageError(
        f"run {run_id} swept `{sweep.knob}`, which tells no cost of respawning{why}", hint=hint
    )
