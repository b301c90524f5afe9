"""The server of a load test looked at when all is measured: when, and what becomes of it."""

import json
import math
from typing import Any

import pytest
from msgspec import structs
from tests.load.origin import origin
from tests.report.sample_load import load_outcome
from tests.rows import each_row
from tests.words import words

from httpdyno.advice.bottleneck.verdict import bottleneck
from httpdyno.cli.app import run
from httpdyno.cli.load.arguments import stretches_s
from httpdyno.errors import AdapterError
from httpdyno.experiment.trial import look as running_look
from httpdyno.experiment.trial.look import LONG_LOOK_S, LOOK_S
from httpdyno.inspection import behind as module
from httpdyno.inspection.behind import with_look
from httpdyno.load.message import WindowPlan
from httpdyno.load.plan import LoadPlan
from httpdyno.load.target import Target
from httpdyno.model import Behind, Constant, Look, Member, RequestSpec, Think, Users, Workload
from httpdyno.model.workload import RateStage, Sessions
from httpdyno.servers.discover.find import Found
from httpdyno.servers.discover.machine import this_machine
from httpdyno.servers.discover.process import ProcessFacts

BOTH = (LOOK_S, LONG_LOOK_S)
POST = (RequestSpec(), RequestSpec(method="POST"))
SEEN = Look(seconds=0.7, n_samples=14, workers=2.0, cpu_s=0.2, answers=50.0)
FOUND = Found(
    member=Member(name="shop", kind="shop"),
    root=ProcessFacts(pid=4711, parent=1, name="shop", started_at_s=0.0),
)


def planned(measure_s: float = 10.0, n_requests: int = 0, **workload: Any) -> LoadPlan:
    return LoadPlan(
        target=Target(host="127.0.0.1", port=8000, path="/"),
        address="127.0.0.1:8000",
        addresses=("127.0.0.1:8000",),
        workload=Workload(**workload),
        recording=None,
        window=WindowPlan(arm=0, lead_in_s=0.0, measure_s=measure_s, n_requests=n_requests),
        seed=1,
        threads=1,
        cpus=(),
        spin_s=0.0,
    )


@each_row(
    ("plan", "stretches"),
    [
        (planned(), BOTH),
        (planned(arrival=Constant(rate_per_s=9.0)), BOTH),
        (planned(math.inf, n_requests=100), BOTH),
        (planned(60.0, requests=POST), BOTH),
        # No short stretch of these is like the whole.
        (planned(60.0, users=Users(think=Think(mean_s=1.0))), ()),
        (planned(60.0, connections_per_s=5.0), ()),
        (planned(60.0, arrival=Sessions(stages=(RateStage(from_per_s=1.0, to_per_s=9.0),))), ()),
    ],
)
def test_more_is_sent_only_where_that_was_asked_for(plan, stretches):
    assert stretches_s(plan, is_asked=True) == stretches
    assert stretches_s(plan, is_asked=False) == ()


@pytest.fixture
def looked(monkeypatch):
    """Look at a server of which this is seen, one after the other; return the outcome, and when."""

    def look(*looks, stretches=BOTH, is_over=lambda: False, found=(FOUND,)):
        waiting, lengths_s = list(looks), []

        def looks_in(_onlookers, windows, *_):
            lengths_s.append(windows[0].measure_s)
            seen = waiting.pop(0)
            if isinstance(seen, Exception):
                raise seen
            return {0: seen}

        monkeypatch.setattr(module, "answering", lambda *_: found)
        monkeypatch.setattr(running_look, "looks_in", looks_in)
        monkeypatch.setattr(
            module,
            "behind_now",
            lambda pids, _machine, _tell, asked: tuple(
                Behind(to=to, by=f"of {pids}") for to in asked
            ),
        )
        outcome = load_outcome()
        seen = with_look(
            outcome, planned(), stretches, is_over, machine=this_machine, tell=lambda _line: None
        )
        assert seen.measurement is outcome.measurement
        return seen, lengths_s

    return look


def test_what_was_seen_comes_with_its_verdict(looked):
    seen, lengths_s = looked(SEEN)
    assert (seen.look, seen.bottleneck, seen.not_looked) == (SEEN, bottleneck(SEEN), None)
    assert lengths_s == [LOOK_S]


def test_whom_it_asks_comes_with_what_was_seen(looked):
    asking = structs.replace(SEEN, backends={"127.0.0.1:5432": 1.5})
    assert looked(asking)[0].behind == (Behind(to="127.0.0.1:5432", by="of [4711]"),)
    assert looked(SEEN)[0].behind == ()


def test_a_pool_that_changes_is_looked_at_for_longer_or_nothing_is_said_of_it(looked):
    changing = structs.replace(SEEN, births=2, deaths=2)
    longer = structs.replace(changing, seconds=2.8)
    seen, lengths_s = looked(changing, longer)
    assert (seen.look, lengths_s) == (longer, list(BOTH))
    seen, lengths_s = looked(changing, stretches=(LOOK_S,))
    assert (seen.look, seen.bottleneck, lengths_s) == (None, None, [LOOK_S])
    assert "that 700 ms say nothing" in words(seen.not_looked)


def test_who_listens_and_does_nothing_is_not_who_answered(looked):
    seen, _ = looked(structs.replace(SEEN, cpu_s=0.0))
    assert seen.bottleneck is None
    assert "127.0.0.1:8000" in words(seen.not_looked)
    busy = structs.replace(SEEN, cpu_s=0.0, connections={"established": 1.0})
    assert looked(busy)[0].bottleneck is not None


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (AdapterError("it belongs to root"), "it belongs to root"),
        (ValueError("odd"), "because of a fault of httpdyno's: ValueError('odd')"),
    ],
)
def test_what_cannot_be_seen_loses_no_test_and_is_told(looked, error, told):
    seen, _ = looked(error)
    assert (seen.bottleneck, words(seen.not_looked)) == (None, told)


def test_that_nobody_here_answers_is_told(looked):
    assert "127.0.0.1:8000" in words(looked(found=())[0].not_looked)


def test_who_asks_for_an_end_meanwhile_gets_what_was_measured(looked):
    seen, _ = looked(SEEN, is_over=lambda: True)
    assert (seen.look, seen.bottleneck, seen.not_looked) == (None, None, None)


def test_the_test_itself_has_no_request_more(capsys):
    with origin("--service", "fixed:5ms") as server:
        command = ["load", f"{server.url}/", "-c", "2", "-n", "40", "--look", "--json", "-"]
        assert run(command) == 0
        n_seen = server.ask("stats")["requests"]
    seen = capsys.readouterr()
    document = json.loads(seen.out)
    assert document["offered"] == document["completed"] == 40
    assert n_seen > 60
    assert document["not_looked"] == ""
    assert document["look"]["answers"] > 10
    # Two connections of 5 ms each are no limit of the server's: nothing is said of what in it was.
    assert document["limited_by"].startswith("server") or document["bottleneck"] is None
    assert "more of the same load" in seen.err
