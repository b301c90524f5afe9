"""In which words failing requests are told."""

from msgspec import structs
from tests.rows import each_row

from httpdyno.experiment.decide.usable import failing, forbidden
from httpdyno.model import Measurement, Objective, RequestSpec, WindowRecord
from httpdyno.model.measurement import PhaseSeen, Portion
from httpdyno.model.telemetry import Telemetry
from httpdyno.report.shared.message import text

GET, POST = RequestSpec(path="/x"), RequestSpec(path="/add", method="POST", expect_status=303)


def _window(errors, statuses, by_request=()):
    failed = sum(errors.values())
    load = Measurement(
        opened_s=0.0,
        measured_s=0.5,
        total_s=0.6,
        offered=624,
        completed=624 - failed,
        errors=errors,
        statuses=statuses,
        by_request=by_request,
    )
    return WindowRecord(
        comparison=0, start=0, block=0, arm=0, measurement=load, telemetry=Telemetry(cpu_s=0.1)
    )


def _portions(get, post):
    wrong = (
        Portion(offered=312, errors={"wrong_status": get}),
        Portion(offered=312, errors={"wrong_status": post}),
    )
    return tuple(structs.replace(each, latency=None) for each in wrong)


@each_row(
    ("window", "requests", "words"),
    [
        (_window({"wrong_status": 312}, {"200": 312, "500": 312}), (GET,), "GET /x got status 500"),
        (
            _window({"wrong_status": 312}, {"200": 312, "201": 312}),
            (structs.replace(GET, expect_status=201),),
            "GET /x got status 200 where 201 is expected",
        ),
        (_window({"timeout": 312}, {"200": 312}), (GET,), "GET /x failed (timeout)"),
        (
            _window({"wrong_status": 312}, {"200": 312, "415": 312}, _portions(1, 311)),
            (GET, POST),
            "POST /add got status 415 where 303 is expected",
        ),
        (
            _window({"wrong_status": 312}, {"200": 624}, _portions(0, 312)),
            (GET, POST),
            "POST /add did not get status 303",
        ),
        (_window({"closed": 312}, {}), (GET, POST), "the workload failed (closed)"),
    ],
)
def test_the_request_that_failed_and_how_is_named_with_its_count(window, requests, words):
    found = failing([window], Objective(), requests)
    assert found is not None
    assert text(found) == f"{words} in 312 of 624 requests; the limit is 0.1 %"


def test_what_luck_may_have_done_is_no_proof():
    few = _window({"timeout": 5}, {"200": 619})
    assert failing([few], Objective(max_error_ratio=0.001), (GET,)) is None
    assert failing([few] * 4, Objective(max_error_ratio=0.001), (GET,)) is not None


def test_where_none_may_fail_one_that_did_is_proof():
    one = _window({"closed": 1}, {"200": 623})
    none = Objective(max_error_ratio=0.0)
    found = forbidden([one], none, (GET,))
    assert found is not None
    assert text(found) == "GET /x failed (closed) in 1 of 624 requests; none may"
    assert forbidden([_window({}, {"200": 624})], none, (GET,)) is None
    assert forbidden([one], Objective(), (GET,)) is None
    # So a reference is not given up for it.
    assert failing([one], none, (GET,)) is None


def test_one_in_a_phase_that_does_not_decide_is_proof_as_well():
    quiet = _window({}, {"200": 624})
    before = PhaseSeen(measured_s=1.0, measured_completed=99, offered=100, completed=99)
    load = structs.replace(quiet.measurement, beside={"before": before})
    found = forbidden(
        [quiet, structs.replace(quiet, measurement=load)], Objective(max_error_ratio=0.0), (GET,)
    )
    assert found is not None
    assert text(found) == "1 of 100 requests failed in phase before; none may"


def test_without_requests_nothing_failed():
    assert failing([], Objective(), (GET,)) is None
