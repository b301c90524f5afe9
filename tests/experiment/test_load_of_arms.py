"""Arms that are asked for other things: a knob of the load."""

from dataclasses import replace

from msgspec import structs
from tests.experiment.loads import load_of
from tests.load.origin import origin

from httpdyno.experiment.trial.afterwards import Wanted
from httpdyno.experiment.trial.engine_loads import Place
from httpdyno.model import Look, RequestSpec, VisitStep
from httpdyno.model.knob import with_load_knobs


class Seeing:
    """An onlooker that saw something."""

    def start(self):
        """Begin."""

    def stop(self):
        """Return what was seen."""
        return Look(seconds=0.5, n_samples=9, workers=2.0)


def with_loads(load, **of_second):
    first = load.workloads[0]
    return replace(load, workloads=[first, structs.replace(first, **of_second)])


def test_each_arm_has_its_own_load_and_each_window_its_arms_figures():
    with origin("--service", "fixed:2ms") as one, origin("--service", "fixed:2ms") as other:
        few = with_loads(load_of(one.address, other.address, n_blocks=2), connections=1)
        windows = few.run(lambda _window: None)
    by_arm = {arm: [w.measurement for w in windows if w.arm == arm] for arm in (0, 1)}
    assert [len(each) for each in by_arm.values()] == [2, 2]
    # Four users at a server that takes the same for each: about four times the rate of one.
    rates = {arm: sum(m.throughput_per_s for m in seen) for arm, seen in by_arm.items()}
    assert rates[0] > 2 * rates[1]
    assert all(m.evidence.busy_connections < 1.1 for m in by_arm[1])


def test_what_is_asked_for_is_that_of_the_arm():
    with origin() as one, origin() as other:
        load = load_of(one.address, other.address)
        requests = (structs.replace(load.workloads[0].requests[0], path="/other"),)
        load = with_loads(load, requests=requests)
        load.run(lambda _window: None)
        paths = [{each["path"] for each in at.ask("log")["arrivals"]} for at in (one, other)]
    assert paths == [{"/"}, {"/other"}]


def test_a_page_has_as_many_objects_as_its_arm_asks_for():
    with origin() as one, origin() as other:
        load = load_of(one.address, other.address, n_blocks=1)
        page = structs.replace(
            load.workloads[0],
            requests=tuple(RequestSpec(path=path) for path in ("/", "/a.css", "/b.css")),
            steps=(VisitStep(request=0, objects=(1, 2)),),
        )
        load = replace(load, workloads=[page, with_load_knobs(page, {"objects": 1})])
        load.run(lambda _window: None)
        paths = [{each["path"] for each in at.ask("log")["arrivals"]} for at in (one, other)]
    assert paths == [{"/", "/a.css", "/b.css"}, {"/", "/a.css"}]


def test_users_have_the_line_of_their_arm():
    with origin("--service", "fixed:2ms") as one, origin("--service", "fixed:2ms") as other:
        load = load_of(one.address, other.address, n_blocks=1)
        lines = with_load_knobs(load.workloads[0], {"slow": "1Mbit:50%"})
        windows = replace(load, workloads=[load.workloads[0], lines]).run(lambda _window: None)
    by_arm = {window.arm: window.measurement.by_population for window in windows}
    assert [sorted(by_arm[arm]) for arm in (0, 1)] == [[], ["slow", "usual"]]


def test_collectors_and_looks_see_the_windows_of_their_arm():
    with origin() as one, origin() as other:
        load = with_loads(load_of(one.address, other.address, n_blocks=2), connections=1)
        load.wanted = Wanted(onlookers={Place(0, 1): Seeing})
        load.run(lambda _window: None)
    assert [load.collectors[Place(0, arm)][0].n_windows for arm in (0, 1)] == [2, 2]
    assert load.looked.looks[Place(0, 1)].clients < 1.1


def test_an_arm_that_gives_no_answer_ends_the_load_and_is_named():
    with origin() as one, origin() as other:
        load = load_of(one.address, other.address)
        requests = (structs.replace(load.workloads[0].requests[0], path="/status/503"),)
        load = with_loads(load, requests=requests)
        load.run(lambda _window: None)
    assert load.silence is not None
    assert load.silence.place == Place(0, 1)
