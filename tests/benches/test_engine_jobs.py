"""What the bench hands to the engine is what the engine takes."""

import json

import pytest
from benches.engine import engine, engine_run
from benches.engine.setting import Setting

from httpdyno import _native  # noqa: TID251 - the engine itself, as the bench has it


@pytest.mark.parametrize(
    ("arrival", "slow"),
    [
        (None, None),
        (None, {"ratio": 0.5, "bytes_per_s": 10.0, "receive_buffer_bytes": 4_096}),
        (engine.even(100.0), None),
        (engine.even(100.0, is_poisson=True), None),
    ],
)
def test_the_engine_takes_the_jobs_that_figures_are_measured_by(arrival, slow):
    setting = Setting(server_cpu=0, client_cpu=0)
    job = engine.job(
        setting,
        "127.0.0.1:1",
        requests=[engine.request("/a"), engine.request("/b", method="POST", body="c")],
        weights=[1.0, 2.0],
        arrival=arrival,
        duration_s=1.0,
        who=engine.users(has_cookies=True, new_ratio=0.5, visit_steps=2.0, think_s=0.1),
        slow=slow,
    )
    _native.check(engine_run.message(json.loads(json.dumps(job))))
