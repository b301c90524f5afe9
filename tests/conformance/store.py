"""What every store must do.

Subclass one of the suites in a test module and give it the fixtures that it names: an in-memory
store for experiments runs `StudyStoreConformance`, a database `StoreConformance`.
"""

from itertools import pairwise
from typing import Protocol

import pytest
from msgspec.structs import replace
from tests.conformance.record import (
    BEGAN_AT,
    sample_host,
    sample_load,
    sample_outcome,
    sample_plan,
    sample_start,
    sample_turns,
    sample_window,
)
from tests.conformance.store_under_way import UnderWayConformance

from httpdyno.errors import StoreError
from httpdyno.model import Configuration, LoadOutcome, RequestSpec, Step
from httpdyno.reason import because
from httpdyno.store import Store
from httpdyno.store.run_store import StudyStore


class StudyStoreConformance:
    """For what an experiment needs. Fixtures: `store`, `run_id` (a new run in that store)."""

    def test_a_start_comes_back_as_it_was_saved(self, store: StudyStore, run_id: str) -> None:
        start = sample_start()
        for window in start.windows:
            store.save_window(run_id, window)
        store.save_start(run_id, start)
        assert store.starts(run_id) == [start]

    def test_a_start_keeps_the_configurations_of_its_arms(
        self, store: StudyStore, run_id: str
    ) -> None:
        arms = (Configuration(values={"workers": 1}), Configuration(values={"workers": 2}))
        start = replace(sample_start(), configurations=arms)
        store.save_start(run_id, start)
        assert store.starts(run_id) == [start]

    def test_windows_are_attached_to_a_start_saved_without_them(
        self, store: StudyStore, run_id: str
    ) -> None:
        start = sample_start()
        for window in start.windows:
            store.save_window(run_id, window)
        store.save_start(run_id, replace(start, windows=()))
        assert store.starts(run_id) == [start]

    def test_a_start_under_way_is_there_with_the_windows_that_ended(
        self, store: StudyStore, run_id: str
    ) -> None:
        begun = replace(sample_start(), stage="step 1 of 2", windows=(), is_complete=False)
        store.begin_start(run_id, begun)
        assert store.starts(run_id) == [begun]
        store.save_window(run_id, sample_window())
        assert store.starts(run_id) == [replace(begun, windows=(sample_window(),))]
        assert store.starts(run_id, 1) == []

    def test_a_start_that_ended_is_under_way_no_more(self, store: StudyStore, run_id: str) -> None:
        start = sample_start()
        store.begin_start(run_id, start)
        for window in start.windows:
            store.save_window(run_id, window)
        store.save_start(run_id, start)
        assert store.starts(run_id) == [start]
        assert start.is_complete

    def test_a_start_that_is_begun_anew_has_none_of_its_old_windows(
        self, store: StudyStore, run_id: str
    ) -> None:
        begun = replace(sample_start(), windows=(), is_complete=False)
        store.begin_start(run_id, begun)
        store.save_window(run_id, sample_window())
        store.begin_start(run_id, begun)
        assert store.starts(run_id) == [begun]

    def test_a_window_of_no_start_is_not_returned(self, store: StudyStore, run_id: str) -> None:
        store.save_window(run_id, sample_window())
        assert store.starts(run_id) == []

    def test_starts_come_in_order_of_comparison_and_start(
        self, store: StudyStore, run_id: str
    ) -> None:
        for comparison, start in ((1, 0), (0, 1), (0, 0)):
            record = sample_start(comparison, start)
            for window in record.windows:
                store.save_window(run_id, window)
            store.save_start(run_id, record)
        found = store.starts(run_id)
        assert [(each.comparison, each.start) for each in found] == [(0, 0), (0, 1), (1, 0)]
        assert store.starts(run_id, 1) == [sample_start(1, 0)]

    def test_a_window_that_is_measured_anew_replaces_the_old_one(
        self, store: StudyStore, run_id: str
    ) -> None:
        start = sample_start(n_blocks=1)
        store.save_window(run_id, sample_window(arm=1, completed=8))
        for window in start.windows:
            store.save_window(run_id, window)
        store.save_start(run_id, start)
        assert store.starts(run_id) == [start]

    def test_a_start_in_which_nothing_came_up_has_no_windows(
        self, store: StudyStore, run_id: str
    ) -> None:
        refused = replace(sample_start(), statuses=("refused", "complete"), windows=())
        store.save_start(run_id, refused)
        assert store.starts(run_id) == [refused]

    def test_a_complete_start_is_not_begun_again(self, store: StudyStore, run_id: str) -> None:
        store.save_start(run_id, sample_start())
        with pytest.raises(StoreError, match="start 0 of comparison 0"):
            store.begin_start(run_id, sample_start())
        assert store.starts(run_id) == [sample_start()]

    def test_a_complete_start_takes_no_more_windows(self, store: StudyStore, run_id: str) -> None:
        store.save_start(run_id, sample_start())
        with pytest.raises(StoreError, match="start 0 of comparison 0"):
            store.save_window(run_id, sample_window(block=5))
        assert store.starts(run_id) == [sample_start()]

    def test_a_start_that_is_saved_again_is_there_once_as_it_was_saved_last(
        self, store: StudyStore, run_id: str
    ) -> None:
        store.save_start(run_id, sample_start(n_blocks=2))
        again = replace(sample_start(n_blocks=1), duration_s=9.5)
        store.save_start(run_id, again)
        assert store.starts(run_id) == [again]
        store.save_start(run_id, replace(again, duration_s=9.0, windows=()))
        assert store.starts(run_id) == [replace(again, duration_s=9.0)]

    def test_windows_come_in_the_order_in_which_they_were_saved(
        self, store: StudyStore, run_id: str
    ) -> None:
        order = (sample_window(arm=1), sample_window(arm=0), sample_window(block=1, arm=0))
        for window in order:
            store.save_window(run_id, window)
        store.save_start(run_id, replace(sample_start(), windows=()))
        assert store.starts(run_id)[0].windows == order

    def test_an_outcome_can_be_saved_again(self, store: StudyStore, run_id: str) -> None:
        store.save_outcome(run_id, replace(sample_outcome(run_id), status="running"))
        store.save_outcome(run_id, sample_outcome(run_id))


class LoadStore(Protocol):
    def save_load(self, outcome: LoadOutcome, *, headline: str = "") -> str: ...

    def load(self, run_id: str) -> LoadOutcome: ...


class LoadStoreConformance:
    """For what keeps load tests. Fixture: `store`."""

    def test_a_load_test_comes_back_as_it_was_saved(self, store: LoadStore) -> None:
        first, second = (store.save_load(sample_load(url)) for url in ("http://a/", "http://b/"))
        assert store.load(first) == sample_load("http://a/")
        assert store.load(second) == sample_load("http://b/")

    def test_there_is_no_load_test_of_another_id(self, store: LoadStore) -> None:
        with pytest.raises(StoreError, match="999"):
            store.load("999")


class StoreConformance(StudyStoreConformance, LoadStoreConformance, UnderWayConformance):
    """For a database. Fixtures: `store` (empty, and of type `Store`), `run_id`."""

    def test_a_load_test_is_listed_beside_runs_of_studies(self, store: Store) -> None:
        study = store.create_run(sample_plan(), sample_host())
        load = store.save_load(sample_load("http://a/"))
        cut = store.save_load(replace(sample_load("http://b/"), is_interrupted=True))
        listed = [(run.id, run.command, run.study, run.status) for run in store.runs()]
        assert listed == [
            (cut, "load", "http://b/", "interrupted"),
            (load, "load", "http://a/", "complete"),
            (study, "tune", "sample", "running"),
        ]
        assert store.runs()[1].began_at == BEGAN_AT
        assert store.runs()[1].duration_s == sample_load("http://a/").measurement.total_s

    def test_a_load_test_and_a_study_are_not_taken_for_each_other(
        self, store: Store, run_id: str
    ) -> None:
        load = store.save_load(replace(sample_load("http://a/"), is_interrupted=True))
        for ask in (store.plan, store.outcome, store.take_over):
            with pytest.raises(StoreError, match=f"run {load} is a load test of http://a/"):
                ask(load)
        with pytest.raises(StoreError, match=f"run {run_id} is of study sample"):
            store.load(run_id)

    def test_running_servers_in_turns_come_back_as_they_were_saved(self, store: Store) -> None:
        urls = ("http://a/", "http://b/", "http://c/")
        run_id = store.save_turns(sample_turns(*urls), headline="nobody knows")
        assert store.turns(run_id) == sample_turns(*urls)
        [run] = store.runs()
        assert (run.command, run.study) == ("turns", "http://a/ and http://b/ and http://c/")
        assert (run.headline, store.command(run_id)) == ("nobody knows", "turns")
        for ask in (store.plan, store.load):
            with pytest.raises(StoreError, match="is a live comparison"):
                ask(run_id)

    def test_a_load_test_has_its_line(self, store: Store) -> None:
        store.save_load(sample_load("http://a/"), headline="7 of 7")
        store.save_load(sample_load("http://b/"))
        assert [run.headline for run in store.runs()] == ["", "7 of 7"]

    def test_secrets_of_a_load_test_are_not_stored(self, store: Store) -> None:
        load = sample_load("http://me:hush@a/")
        request = RequestSpec(headers=(("Authorization", "Bearer hush"), ("X-A", "b")))
        load = replace(load, workload=replace(load.workload, requests=(request,)))
        stored = store.load(store.save_load(load))
        assert "hush" not in f"{stored} {store.runs()}"
        assert stored.workload.requests[0].headers[1] == ("X-A", "b")

    def test_an_empty_store_has_no_runs(self, store: Store) -> None:
        assert store.runs() == []

    def test_plan_and_host_come_back_as_they_were(self, store: Store) -> None:
        run_id = store.create_run(sample_plan(), sample_host())
        assert store.plan(run_id) == sample_plan()
        assert store.host(run_id) == sample_host()
        settings = store.plan(run_id).study.server.settings
        assert [type(value) for value in settings.values()] == [bool, float, int]

    def test_a_plan_keeps_the_digests_of_what_it_reads(self, store: Store) -> None:
        plan = replace(sample_plan(), inputs={"app/site.py": "5f2c", "$PATH": "90ab"})
        assert store.plan(store.create_run(plan, sample_host())) == plan

    def test_what_an_outcome_left_undone_comes_back(self, store: Store, run_id: str) -> None:
        left = (Step(knob="workers", to=4),)
        outcome = replace(
            sample_outcome(run_id),
            not_tried=left,
            needed_s=12.5,
            withdrawn=because("experiment.the_change"),
        )
        store.save_outcome(run_id, outcome)
        assert store.outcome(run_id) == outcome

    def test_an_outcome_comes_back_with_its_open_bounds(self, store: Store, run_id: str) -> None:
        assert store.outcome(run_id) is None
        store.save_outcome(run_id, sample_outcome(run_id))
        assert store.outcome(run_id) == sample_outcome(run_id)

    def test_ids_are_decimal_and_never_given_twice(self, store: Store) -> None:
        ids = [store.create_run(sample_plan(), sample_host()) for _ in range(3)]
        assert [int(later) - int(earlier) for earlier, later in pairwise(ids)] == [
            1,
            1,
        ]

    def test_runs_are_listed_newest_first(self, store: Store) -> None:
        first = store.create_run(sample_plan("first"), sample_host())
        second = store.create_run(sample_plan("second"), sample_host())
        assert [(run.id, run.study) for run in store.runs()] == [
            (second, "second"),
            (first, "first"),
        ]
        assert [run.id for run in store.runs(limit=1)] == [second]
        assert store.n_runs() == 2

    def test_a_run_under_way_is_listed_as_running(self, store: Store, run_id: str) -> None:
        store.save_start(run_id, sample_start(n_blocks=2))
        (run,) = store.runs()
        assert (run.status, run.n_starts, run.n_windows) == ("running", 1, 4)
        assert run.verdict is None
        assert run.ratio is None

    def test_a_finished_run_is_listed_with_its_final_ratio(self, store: Store, run_id: str) -> None:
        store.save_outcome(run_id, sample_outcome(run_id))
        (run,) = store.runs()
        assert (run.status, run.duration_s, run.verdict) == ("complete", 41.5, "better")
        assert (run.ratio, run.ratio_low, run.ratio_high) == (1.9, 1.8, 2.0)

    def test_an_unknown_run_is_named_with_a_way_out(self, store: Store) -> None:
        for unknown in ("999", "abc", "-1", "\u0661", "9" * 30, ""):
            for ask in (store.plan, store.host, store.starts, store.outcome, store.take_over):
                with pytest.raises(StoreError) as caught:
                    ask(unknown)
                assert unknown in str(caught.value)
                assert "httpdyno history" in caught.value.hint

    def test_nothing_is_stored_for_an_unknown_run(self, store: Store) -> None:
        with pytest.raises(StoreError, match="999"):
            store.save_window("999", sample_window())
        with pytest.raises(StoreError, match="999"):
            store.save_start("999", sample_start())
        with pytest.raises(StoreError, match="999"):
            store.save_outcome("999", sample_outcome("999"))
        assert store.runs() == []

    def test_an_interrupted_run_can_be_taken_over_and_completed(
        self, store: Store, run_id: str
    ) -> None:
        store.save_start(run_id, sample_start())
        # The second start was cut short after more blocks than it will have the next time.
        for block in range(3):
            store.save_window(run_id, sample_window(start=1, block=block, completed=8))
        store.save_outcome(run_id, replace(sample_outcome(run_id), status="interrupted"))
        assert store.runs()[0].status == "interrupted"

        store.take_over(run_id)
        assert store.runs()[0].status == "running"
        again = sample_start(start=1, n_blocks=1)
        for window in again.windows:
            store.save_window(run_id, window)
        store.save_start(run_id, replace(again, windows=()))
        assert store.starts(run_id) == [sample_start(), again]

    def test_a_complete_run_cannot_be_taken_over(self, store: Store, run_id: str) -> None:
        store.save_outcome(run_id, sample_outcome(run_id))
        with pytest.raises(StoreError, match="complete"):
            store.take_over(run_id)
