"""What a run found, as it grows."""

from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from httpdyno.experiment import caveat
from httpdyno.experiment.limit import limit_broken
from httpdyno.experiment.other_sizes import judged_by_sizes
from httpdyno.experiment.session import Session
from httpdyno.model import Caveat, Comparison, Configuration, HostFacts, Outcome


class GrowingOutcome:
    """The outcome as it grows; stored at every step so that nothing found is lost."""

    def __init__(self, session: Session, host: HostFacts) -> None:
        self._session = session
        before = session.store.outcome(session.run_id)
        # A resumed run keeps what is known until it has found it again.
        self.found = (
            structs.replace(before, status="running", message="", plan=session.plan)
            if before
            else self._new(host)
        )

    def _new(self, host: HostFacts) -> Outcome:
        session = self._session
        return Outcome(
            id=session.run_id,
            status="running",
            plan=session.plan,
            host=host,
            began_at=datetime.now(UTC).isoformat(timespec="seconds"),
            duration_s=0.0,
            configuration=session.plan.reference or session.plan.study.start_configuration(),
        )

    def note(self, **found: Any) -> Outcome:  # noqa: ANN401 - fields of Outcome
        """Take in what was found, and store it."""
        known = structs.replace(self.found, duration_s=self._session.spent_s, **found)
        self.found = judged_by_sizes(known)
        self._session.store.save_outcome(self._session.run_id, self.found)
        return self.found

    def doubt(self, *caveats: Caveat) -> None:
        """Attach doubts to the outcome, each once."""
        known = self.found.caveats
        self.note(caveats=(*known, *(each for each in caveats if each not in known)))

    def conclude(self, final: Comparison | None) -> str:
        """Take in the last claim; return the limit that its configuration breaks, empty if none."""
        self.note(final=final)
        objective = self._session.plan.study.objective
        broken = limit_broken(final.b, objective) if final else ""
        self.doubt(*caveat.final_breaks_limit(broken))
        return broken

    def settle(
        self,
        best: Configuration,
        arms: tuple[Configuration, Configuration] | None = None,
        *,
        withdrawn: str = "",
    ) -> None:
        """Say which configuration won, and what differs in the server's files.

        Args:
            best: What was found.
            arms: Between which the files differ; start and result unless given.
            withdrawn: Why it is not settled on, but the start is.
        """
        start = self._session.plan.study.start_configuration()
        result = start if withdrawn else best
        diff = self._session.bench.configuration_diff(*(arms or (start, result)))
        self.note(configuration=result, overlay_diff=diff, withdrawn=withdrawn)
