"""Write the database that this version makes: `python -m tests.store.make_asset`, once a schema.

It is kept as `assets/schema-REVISION.db` and never written anew: later versions must open it.
"""

from pathlib import Path

from tests.conformance.record import (
    sample_host,
    sample_load,
    sample_outcome,
    sample_plan,
    sample_start,
    sample_turns,
    sample_window,
)

from httpdyno.model import RootProcess, StartServers
from httpdyno.store import Store
from httpdyno.store.schema import HEAD

ASSETS = Path(__file__).parent / "assets"
SERVERS = StartServers(roots=((), (RootProcess(pid=812, start_ticks=99),)))


def fill(store: Store) -> None:
    """Store a run that is complete, one cut short in its second start, a load and turns."""
    complete = store.create_run(sample_plan(), sample_host())
    store.save_start(complete, sample_start())
    store.save_outcome(complete, sample_outcome(complete))
    cut_short = store.create_run(sample_plan("cut-short"), sample_host())
    store.save_start(cut_short, sample_start())
    store.begin_start(cut_short, sample_start(start=1))
    store.save_servers(cut_short, 0, 1, SERVERS)
    store.save_window(cut_short, sample_window(start=1))
    store.save_load(sample_load("http://127.0.0.1/"), headline="240 of 250 requests completed")
    store.save_turns(sample_turns("http://127.0.0.1/", "http://127.0.0.2/"), headline="so far")


if __name__ == "__main__":
    target = ASSETS / f"schema-{HEAD}.db"
    if target.exists():
        raise SystemExit(f"{target} exists already, and stays as it is")
    with Store.open(str(target)) as new:
        fill(new)
    Path(f"{target}.lock").unlink()
