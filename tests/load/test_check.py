"""A workload that makes no sense is refused, and what is not refused the engine takes."""

import math

import pytest
from tests.load.site import DEADLINE_S, serving
from tests.rows import each_row

from httpdyno.errors import UsageError
from httpdyno.load.check import check_workload
from httpdyno.load.engine import start_load
from httpdyno.load.message import WindowPlan
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


@each_row(
    ("workload", "words"),
    [
        (Workload(requests=()), "`requests` is empty"),
        (Workload(connections=0), "`connections` is 0; expected 1 to 1000000"),
        (Workload(connections=1_000_001), "`connections` is 1000001; expected 1 to"),
        (Workload(connections_per_s=-1.0), "`connections_per_s` is -1"),
        (Workload(connections_per_s=math.nan), "`connections_per_s` is NaN"),
        (Workload(requests_per_connection=-1), "`requests_per_connection` is -1"),
        (Workload(connections_per_page=0), "`connections_per_page` is 0; expected 1 to 1000"),
        (Workload(arrival=Constant(rate_per_s=0.0)), "0/s throughout"),
        (Workload(arrival=Constant(rate_per_s=math.inf)), "from_per_s` is inf"),
        (Workload(arrival=Poisson(rate_per_s=-5.0)), "from_per_s` is -5"),
        (
            Workload(arrival=Poisson(rate_per_s=2e9)),
            "from_per_s` is 2000000000; expected a rate from 0 to 1e9",
        ),
        (Workload(arrival=Stages(stages=())), "`arrival.stages` is empty"),
        (
            Workload(arrival=Stages(stages=(stage(5.0, 0.0, 0.0),))),
            "`arrival.stages` is 0/s throughout",
        ),
        (Workload(arrival=Stages(stages=(stage(0.0, 5.0, 5.0),))), "duration_s` is 0"),
        (Workload(arrival=Stages(stages=(stage(5.0, -1.0, 5.0),))), "from_per_s` is -1"),
        (Workload(arrival=Stages(stages=(stage(5.0, 1.0, math.nan),))), "to_per_s` is NaN"),
        (
            Workload(arrival=Stages(stages=(stage(None, 5.0, 5.0), stage(1.0, 5.0, 5.0)))),
            "`arrival.stages[0].duration_s` is infinite",
        ),
        (
            Workload(arrival=Sessions(stages=(stage(None, 0.0, 5.0),))),
            "only a last stage of one rate has no end",
        ),
        (Workload(arrival=Replay(log="x", speed=0.0)), "at 0 times its speed"),
        (Workload(arrival=Replay(log="x", speed=math.nan)), "at nan times its speed"),
        (Workload(arrival=Replay(log="x", methods=())), "no method of the log"),
        (Workload(steps=(VisitStep(request=1),)), "`mix[0].request` is 1"),
        (Workload(steps=(VisitStep(request=0, objects=(7,)),)), "`mix[0].objects[0]` is 7"),
        (Workload(steps=(VisitStep(request=0, weight=-1.0),)), "`mix[0].weight` is -1"),
        (Workload(steps=(VisitStep(request=0, weight=math.inf),)), "`mix[0].weight` is inf"),
        (Workload(steps=(VisitStep(request=0, weight=0.0),)), "`mix` is of weight 0 in all"),
        (Workload(users=Users(new_ratio=1.3)), "`users.new_ratio` is 1.3"),
        (Workload(users=Users(n_returning=0)), "`users.n_returning` is 0"),
        (Workload(users=Users(visit=Visit(mean_steps=0.5))), "`users.visit` is 0.5"),
        (
            Workload(users=Users(visit=Visit(mean_steps=2.5))),
            "`users.visit` is 2.5; expected a whole number",
        ),
        (
            Workload(users=Users(visit=Visit(mean_steps=-3))),
            "`users.visit` is -3; expected 1 to 1e9 steps",
        ),
        (Workload(users=Users(visit=Visit(mean_steps=1e12))), "`users.visit` is 1000000000000;"),
        (Workload(users=Users(think=Think(mean_s=-2.0))), "`users.think` is -2"),
        (Workload(slow=SlowUsers(ratio=1.2, bytes_per_s=10.0)), "`slow.ratio` is 1.2"),
        (Workload(slow=SlowUsers(ratio=0.5, bytes_per_s=2e9)), "`slow.bytes_per_s` is 2000000000"),
        (
            Workload(slow=SlowUsers(ratio=0.5, bytes_per_s=9.0, receive_buffer_bytes=1 << 31)),
            "`slow.receive_buffer_bytes` is 2147483648; expected at most 1 GiB",
        ),
        (
            Workload(users=Users(visit=Visit(mean_steps=1e12, is_geometric=True))),
            "`users.visit` is 1000000000000; expected 1 to 1e9 steps",
        ),
        (Workload(timeout_s=0.0), "`timeout_s` is 0; expected a time above 0"),
        (
            Workload(timeout_s=math.inf),
            "`timeout_s` is inf; expected a time above 0 s, at most 1e9 s",
        ),
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


@each_row(
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
