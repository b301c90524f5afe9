"""A workload that makes no sense is refused, and what is not refused the engine takes."""

import math

import pytest
from tests.load.site import DEADLINE_S, serving

from httpdyno.errors import UsageError
from httpdyno.load.check import check_workload
from httpdyno.load.engine import WindowPlan, start_load
from httpdyno.model import (
    Constant,
    Poisson,
    RateStage,
    Replay,
    RequestSpec,
    Sessions,
    SlowUsers,
    Stages,
    Think,
    Users,
    Visit,
    VisitStep,
    Workload,
)


def stage(length_s: float | None, first: float, last: float) -> RateStage:
    return RateStage(duration_s=length_s, from_per_s=first, to_per_s=last)


def of_request(**what: object) -> Workload:
    return Workload(requests=(RequestSpec(**what),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        (Workload(requests=()), "no requests"),
        (Workload(connections=0), "0 connections"),
        (Workload(connections=1_000_001), "1000001 connections"),
        (Workload(connections_per_s=-1.0), "-1 connections per second"),
        (Workload(connections_per_s=math.nan), "nan connections per second"),
        (Workload(requests_per_connection=-1), "-1 requests per connection"),
        (Workload(connections_per_page=0), "0 connections load no page"),
        (Workload(arrival=Constant(rate_per_s=0.0)), "0/s"),
        (Workload(arrival=Constant(rate_per_s=math.inf)), "inf/s"),
        (Workload(arrival=Poisson(rate_per_s=-5.0)), "-5/s"),
        (Workload(arrival=Poisson(rate_per_s=2e9)), "beyond any clock"),
        (Workload(arrival=Stages(stages=())), "never send"),
        (Workload(arrival=Stages(stages=(stage(5.0, 0.0, 0.0),))), "never send"),
        (Workload(arrival=Stages(stages=(stage(0.0, 5.0, 5.0),))), "a stage of 0 s"),
        (Workload(arrival=Stages(stages=(stage(5.0, -1.0, 5.0),))), "a stage's rate of -1/s"),
        (Workload(arrival=Stages(stages=(stage(5.0, 1.0, math.nan),))), "a stage's rate of nan/s"),
        (
            Workload(arrival=Stages(stages=(stage(None, 5.0, 5.0), stage(1.0, 5.0, 5.0)))),
            "a stage without an end is followed by another",
        ),
        (
            Workload(arrival=Sessions(stages=(stage(None, 0.0, 5.0),))),
            "a stage without an end goes from 0/s to 5/s",
        ),
        (Workload(arrival=Replay(log="x", speed=0.0)), "at 0 times its speed"),
        (Workload(arrival=Replay(log="x", speed=math.nan)), "at nan times its speed"),
        (Workload(arrival=Replay(log="x", methods=())), "no method of the log"),
        (Workload(steps=(VisitStep(request=1),)), "a request that there is not"),
        (Workload(steps=(VisitStep(request=0, objects=(7,)),)), "a request that there is not"),
        (Workload(steps=(VisitStep(request=0, weight=-1.0),)), "a weight of -1"),
        (Workload(steps=(VisitStep(request=0, weight=math.inf),)), "a weight of inf"),
        (Workload(steps=(VisitStep(request=0, weight=0.0),)), "the mix sums to nothing"),
        (Workload(users=Users(new_ratio=1.3)), "130% new users"),
        (Workload(users=Users(n_returning=0)), "0 users cannot come again"),
        (Workload(users=Users(visit=Visit(mean_steps=0.5))), "a visit of 0.5 requests"),
        (Workload(users=Users(visit=Visit(mean_steps=2.5))), "exactly 2.5 requests"),
        (Workload(users=Users(think=Think(mean_s=-2.0))), "nobody thinks for -2 s"),
        (Workload(slow=SlowUsers(ratio=1.2, bytes_per_s=10.0)), "120% slow users"),
        (Workload(slow=SlowUsers(ratio=0.0, bytes_per_s=10.0)), "0% slow users"),
        (Workload(slow=SlowUsers(ratio=0.5, bytes_per_s=0.0)), "a line of 0 bytes/s"),
        (
            Workload(slow=SlowUsers(ratio=0.5, bytes_per_s=9.0, receive_buffer_bytes=0)),
            "a receive buffer of 0 bytes",
        ),
        (Workload(timeout_s=0.0), "no patience"),
        (Workload(timeout_s=math.inf), "no patience"),
        (of_request(method="GE T"), "not an HTTP method"),
        (of_request(path="x"), "does not start with"),
        (of_request(path="/a b"), "request line"),
        (of_request(path="/\r\nX: y"), "request line"),
        (of_request(path="/ä"), "request line"),
        (of_request(path="/{id}"), "holds `{id}`, expected one of `{n}`, `{user}`, `{random}`"),
        (of_request(path="/{{id}"), "holds `{id}`"),
        (of_request(headers=(("a b", "c"),)), "`a b`"),
        (of_request(headers=(("a", "b\r\nc: d"),)), "line break"),
        (of_request(headers=(("a", "{b}"),)), "the header `a` holds `{b}`"),
        (of_request(expect_status=100), "not a final status"),
        (of_request(expect_length=-1), "a body of -1 bytes"),
        (of_request(body_file="/no/such/file"), "the body `/no/such/file` cannot be read"),
    ],
)
def test_a_workload_that_makes_no_sense_is_refused(workload, words):
    with pytest.raises(UsageError) as caught:
        check_workload(workload)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "workload",
    [
        Workload(),
        Workload(connections=1, connections_per_s=1e9, requests_per_connection=2**32 - 1),
        Workload(connections=1, connections_per_page=1000),
        Workload(arrival=Constant(rate_per_s=1e9)),
        Workload(arrival=Poisson(rate_per_s=1e-3)),
        Workload(arrival=Stages(stages=(stage(1e9, 0.0, 1e9), stage(None, 5.0, 5.0)))),
        Workload(arrival=Sessions(stages=(stage(1.0, 0.0, 2.0),))),
        Workload(
            users=Users(
                has_cookies=True,
                new_ratio=1.0,
                n_returning=2**32 - 1,
                visit=Visit(mean_steps=1e9, is_geometric=True),
                think=Think(mean_s=1e9, is_exponential=True),
            ),
        ),
        Workload(users=Users(visit=Visit(mean_steps=1e9), think=Think(mean_s=1e9))),
        Workload(slow=SlowUsers(ratio=1.0, bytes_per_s=1e9, receive_buffer_bytes=1 << 30)),
        Workload(slow=SlowUsers(ratio=1e-9, bytes_per_s=1e-3, receive_buffer_bytes=1)),
        Workload(timeout_s=1e9),
        of_request(path="/{{id}}/{n}/%7Bid%7D", headers=(("a", "{{b}} {user}"),)),
        of_request(body='{"a": {b}, "n": {n}}', method="M-SEARCH"),
        of_request(path="*", method="OPTIONS", expect_status=None, expect_length=0),
    ],
    ids=str,
)
def test_what_is_not_refused_the_engine_takes(workload):
    check_workload(workload)
    window = WindowPlan(arm=0, lead_in_s=0, measure_s=60)
    with serving() as site:
        handle = start_load(workload, [site.address], [window], drain_s=0.0)
        handle.stop()
        assert handle.wait(DEADLINE_S)
