"""A run of a study that goes on in another process, followed by what the store has of it."""

import socket
from datetime import UTC, datetime

from httpdyno.cli.console import results
from httpdyno.cli.live_looks import LiveLooks
from httpdyno.cli.output import Outputs
from httpdyno.errors import StoreError, TargetError
from httpdyno.report.study.finding import headline
from httpdyno.report.watch.run import RunLook, RunView, run_json, run_line
from httpdyno.store import Store
from httpdyno.telemetry.watched import Follower


def watch_run(
    run_id: str, *, every_s: float, n_looks: int | None, is_once: bool, outputs: Outputs
) -> int:
    """Follow a run until it ends, or the view is left.

    Raises:
        StoreError: There is no such run, or nobody is at it.
        TargetError: It ended between the two looks of `--once`.
    """
    with Store.open() as store:
        following = Following(store, run_id, every_s)
        console = results()
        if is_once:
            _once(following, outputs)
        elif console.is_terminal and not console.is_dumb_terminal:
            following.view(console, n_looks)
        else:
            following.lines(n_looks)
    return 0


class Following(LiveLooks[RunLook]):
    """A run that somebody is at, and its servers where they can be seen."""

    def __init__(self, store: Store, run_id: str, every_s: float) -> None:
        super().__init__(every_s)
        self._store = store
        self._run_id = run_id
        self._follower = Follower()

    def look(self, before: RunLook | None) -> RunLook | None:
        """Return what is known now; None when nobody is at the run any more.

        Raises:
            StoreError: Nobody was at the first look.
        """
        run = self._store.under_way(self._run_id)
        if run is None:
            if before is None:
                raise StoreError(
                    f"run {self._run_id} does not run now",
                    hint=f"`httpdyno report {self._run_id}` says what it found",
                )
            return None
        is_here = run.host == socket.gethostname()
        arms = [arm for start in run.starts for arm in start.arms] if is_here else []
        return RunLook(
            run=run,
            now=datetime.now(UTC),
            servers=self._follower.look(arm.roots for arm in arms),
            is_first=before is None,
        )

    def has_rates(self, seen: RunLook) -> bool:
        """Whether it is not the first look."""
        return not seen.is_first

    def line(self, seen: RunLook) -> str:
        """Return a look in a line."""
        return run_line(seen)

    def shown(self, seen: RunLook, *, n_lines: int | None = None, keys: str = "") -> RunView:
        """Return a view of what was seen."""
        return RunView(look=seen, n_lines=n_lines, keys=keys)

    def end_text(self) -> str:
        """Return how the run ended, with what it found."""
        outcome = self._store.outcome(self._run_id)
        if outcome is None or outcome.status == "running":
            return (
                f"the process that was at run {self._run_id} has ended, and the run has not: "
                f"`httpdyno study run --resume {self._run_id}` goes on with it"
            )
        return f"run {self._run_id} has ended: {headline(outcome)}"


def _once(following: Following, outputs: Outputs) -> None:
    """Look twice and print that."""
    seen = following.twice()
    if seen is None:
        raise TargetError(f"{following.end_text()}, while it was looked at")
    if outputs.json is not None:
        outputs.write_json(run_json(seen))
    if outputs.has_text:
        results().print(following.shown(seen))
