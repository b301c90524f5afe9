"""What was offered, in words."""

from msgspec import structs
from tests.rows import each_row

from httpdyno.model import (
    Closed,
    Constant,
    Poisson,
    RateStage,
    Replay,
    Sessions,
    SlowUsers,
    Stages,
    Think,
    TlsSpec,
    Users,
    Visit,
    Workload,
)
from httpdyno.report.shared.workload_text import latency_label, model_name, workload_text

STAGES = (
    RateStage(from_per_s=0, to_per_s=500, duration_s=10),
    RateStage(from_per_s=500, to_per_s=500, duration_s=30),
)
BASE = Workload(connections=50)


@each_row(
    ("workload", "model", "text"),
    [
        (BASE, "closed loop", "closed loop, 50 connections, keep-alive"),
        (
            structs.replace(BASE, arrival=Constant(rate_per_s=500), requests_per_connection=1),
            "constant rate",
            "constant rate of 500/s over at most 50 connections, no keep-alive",
        ),
        (
            structs.replace(BASE, arrival=Poisson(rate_per_s=0.5), requests_per_connection=100),
            "Poisson",
            "Poisson rate of 0.500/s over at most 50 connections, 100 requests per connection",
        ),
        (
            structs.replace(BASE, arrival=Stages(stages=STAGES)),
            "stages",
            "stages of up to 500/s in 40.0 s over at most 50 connections, keep-alive",
        ),
        (
            structs.replace(BASE, arrival=Stages(stages=STAGES, is_poisson=True)),
            "Poisson stages",
            "Poisson stages of up to 500/s in 40.0 s over at most 50 connections, keep-alive",
        ),
        (
            structs.replace(
                BASE,
                arrival=Sessions(stages=(RateStage(from_per_s=20, to_per_s=20),)),
                users=Users(
                    has_cookies=True,
                    new_ratio=0.3,
                    visit=Visit(mean_steps=5, is_geometric=True),
                    think=Think(mean_s=2, is_exponential=True),
                ),
            ),
            "sessions",
            "sessions at 20.0/s (Poisson) over at most 50 connections, visits of 5 steps on "
            "average, 2.00 s to think on average, cookies, 30 % new users, keep-alive",
        ),
        (
            structs.replace(BASE, arrival=Replay(log="access.log", speed=2.0)),
            "replay",
            "replay of access.log at 2× over at most 50 connections, keep-alive",
        ),
        (
            structs.replace(
                BASE, slow=SlowUsers(ratio=0.2, bytes_per_s=3600), tls=TlsSpec(is_verified=False)
            ),
            "closed loop",
            "closed loop, 50 connections, keep-alive, 20 % slow at 3.52 KiB/s, "
            "TLS, certificate not checked",
        ),
    ],
)
def test_every_model_is_named(workload: Workload, model: str, text: str) -> None:
    assert model_name(workload) == model
    assert workload_text(workload) == text


def test_latency_says_from_when_it_counts() -> None:
    sessions = Sessions(stages=STAGES)
    labels = {
        type(arrival): latency_label(structs.replace(BASE, arrival=arrival))
        for arrival in (Closed(), Constant(rate_per_s=1), sessions, Replay(log="a"))
    }
    assert "a stall delays requests uncounted" in labels[Closed]
    assert labels[Constant] == labels[Replay] == "from the due time"
    assert "from the end of the user's thought" in labels[Sessions]
