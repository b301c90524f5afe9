"""Keep what has ended for `history` and `report`; a failure of that takes no result away."""

from collections.abc import Callable

from httpdyno.cli.standard_streams import tell
from httpdyno.cli.waiting import content, waiting
from httpdyno.errors import StoreError
from httpdyno.model import LoadOutcome, RunSummary
from httpdyno.store import Store
from httpdyno.store.query import from_text

MOST_RUNS = 100
"""That are listed where nobody asks for more: each is read from what it found."""


def keep(save: Callable[[Store], str]) -> None:
    """Store a run that has been shown, and say how to see it again.

    Args:
        save: Stores it in the store that it is given, and returns its id.
    """
    try:
        with Store.open() as store:
            run_id = save(store)
    except StoreError as error:
        tell(f"not stored: {error}")
        return
    tell(f"stored as run {run_id}: `httpdyno report {run_id}` shows it again")


def newest_runs(store: Store, limit: int = MOST_RUNS) -> list[RunSummary]:
    """Return the stored runs, the one that began last first; load tests that waited are in."""
    _take_in(store)
    return sorted(store.runs(limit), key=lambda run: (run.began_at, int(run.id)), reverse=True)


def _take_in(store: Store) -> None:
    with waiting() as files:
        for file in files:
            try:
                headline, text = content(file)
                outcome = from_text(text, LoadOutcome, f"the load test in `{file}`")
            except StoreError as error:
                tell(f"{error}")
                continue
            # Stored before it is deleted: twice is better than never.
            store.save_load(outcome, headline=headline)
            file.unlink(missing_ok=True)
