"""What every method of answering a question must do, whatever it tries and in which order.

Subclass `MethodConformance` in a test module and give it the fixtures `plan`, which the method
answers, and `throughput_per_s`, the true throughput of each configuration.
"""

import pytest
from msgspec import structs
from tests.conformance.bench import Effect, FakeBench
from tests.conformance.memory_store import MemoryStore

from httpdyno.experiment.method.run import run_plan
from httpdyno.model import Outcome, Plan, StartRecord

_N_INTERRUPTIONS = 5
_OVERTIME = 1.05


def answered(plan: Plan, bench: FakeBench, store: MemoryStore) -> Outcome:
    """Run the plan."""
    return run_plan(plan, bench=bench, store=store, run_id="1", watch=lambda _event: None)


class MethodConformance:
    """Fixtures: `plan`, `throughput_per_s`."""

    @pytest.fixture
    def store(self) -> MemoryStore:
        """What an undisturbed run stored."""
        return MemoryStore()

    @pytest.fixture
    def whole(self, plan: Plan, throughput_per_s: Effect, store: MemoryStore) -> Outcome:
        """Return the outcome of an undisturbed run."""
        return answered(plan, FakeBench(throughput_per_s=throughput_per_s), store)

    def test_it_comes_to_an_end_within_its_budget(self, plan: Plan, whole: Outcome) -> None:
        assert whole.status == "complete"
        assert 0 < whole.duration_s <= plan.study.budget_s * _OVERTIME

    def test_interrupted_anywhere_it_goes_on_and_ends_the_same(
        self, plan: Plan, throughput_per_s: Effect, whole: Outcome, store: MemoryStore
    ) -> None:
        n_starts = len(store.complete)
        for after in range(0, n_starts, max(1, n_starts // _N_INTERRUPTIONS)):
            stored = MemoryStore()
            first = FakeBench(throughput_per_s=throughput_per_s, interrupt_after=after)
            assert answered(plan, first, stored).status == "interrupted"
            [cut_short] = stored.begun
            second = FakeBench(throughput_per_s=throughput_per_s)
            again = answered(plan, second, stored)
            assert second.starts_measured == n_starts - after, "what is stored is not measured"
            assert second.requests[0].arms == cut_short.configurations
            assert _timeless(stored) == _timeless(store)
            assert stored.begun == []
            for part in ("steps", "final", "sweep", "factorial", "configuration", "not_tried"):
                assert getattr(again, part) == getattr(whole, part)

    def test_what_was_found_is_found_again_without_measuring(
        self, plan: Plan, whole: Outcome, store: MemoryStore
    ) -> None:
        nobody = FakeBench(throughput_per_s=lambda _values: 0.0)
        assert answered(plan, nobody, store).final == whole.final
        assert nobody.starts_measured == 0

    def test_each_comparison_has_starts_of_its_own(
        self, whole: Outcome, store: MemoryStore
    ) -> None:
        assert whole.id
        numbers = {(start.comparison, start.start) for start in store.complete}
        assert len(numbers) == len(store.complete)
        for index in {start.comparison for start in store.complete}:
            mine = [start for start in store.complete if start.comparison == index]
            assert [start.start for start in mine] == list(range(len(mine)))
            assert len({(s.stage, str(s.configurations)) for s in mine}) == 1
            assert mine[0].stage

    def test_the_final_claim_rests_on_starts_that_nothing_was_chosen_by(
        self, whole: Outcome, store: MemoryStore
    ) -> None:
        assert whole.final is not None
        chosen_by = [step.comparison.index for step in whole.steps]
        assert whole.final.index not in chosen_by
        final = [start for start in store.complete if start.comparison == whole.final.index]
        assert len(final) == whole.final.n_starts


def _timeless(store: MemoryStore) -> list[StartRecord]:
    """Return all that is complete but for when it began."""
    return [structs.replace(start, began_at="") for start in store.complete]
