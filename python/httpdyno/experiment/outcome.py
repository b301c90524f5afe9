"""What a run found, as it grows."""

from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from httpdyno.experiment.limit import limit_broken
from httpdyno.experiment.other_sizes import judged_by_sizes
from httpdyno.experiment.session import Session
from httpdyno.experiment.warning import warnings_of
from httpdyno.model import Comparison, Configuration, HostFacts, Outcome, ResultWarning
from httpdyno.reason import Reason, because


class GrowingOutcome:
    """The outcome as it grows; stored at every step so that nothing found is lost."""

    def __init__(self, session: Session, host: HostFacts) -> None:
        self._session = session
        before = session.store.outcome(session.run_id)
        # A resumed run keeps what is known until it has found it again.
        self.found = (
            structs.replace(before, status="running", ended_by=(), plan=session.plan)
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

    def warn(self, *warnings: Reason | ResultWarning) -> None:
        """Attach warnings to the outcome, each once: a reason is one of the whole."""
        each_once = dict.fromkeys(self.found.warnings)
        for each in warnings:
            each_once |= dict.fromkeys(warnings_of([each]) if isinstance(each, Reason) else [each])
        self.note(warnings=tuple(each_once))

    def conclude(self, final: Comparison | None) -> Reason | None:
        """Take in the last claim; return the limit that its configuration breaks, None if none."""
        self.note(final=final)
        objective = self._session.plan.study.objective
        broken = limit_broken(final.b, objective) if final else None
        if broken is not None:
            self.warn(because("experiment.final_breaks_limit", why=broken))
        return broken

    def settle(
        self,
        best: Configuration,
        arms: tuple[Configuration, Configuration] | None = None,
        *,
        withdrawn: Reason | None = None,
    ) -> None:
        """Say which configuration won, and what differs in the server's files.

        Args:
            best: What was found.
            arms: Between which the files differ; start and result unless given.
            withdrawn: Why it is not settled on, but the start is.
        """
        start = self._session.plan.study.start_configuration()
        result = best if withdrawn is None else start
        diff = self._session.bench.configuration_diff(*(arms or (start, result)))
        self.note(configuration=result, overlay_diff=diff, withdrawn=withdrawn)
