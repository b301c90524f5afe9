"""A log that no window sees the end of is refused before anything is touched."""

import pytest
from msgspec import structs

from httpdyno.errors import UsageError
from httpdyno.experiment.design.plan import compare_plan, make_plan
from httpdyno.model import Objective, Phase, Replay

LINE = '127.0.0.1 - - [10/Oct/2026:13:55:{second:02}  +0000] "GET /a HTTP/1.1" 200 12\n'


def test_a_log_longer_than_a_window_is_refused_with_its_length(study, tmp_path):
    log = tmp_path / "access.log"
    log.write_text("".join(LINE.format(second=s).replace("  ", " ") for s in (0, 5, 10, 30)))
    replayed = structs.replace(
        study,
        workload=structs.replace(study.workload, arrival=Replay(log=str(log)), requests=()),
        objective=Objective(metric="latency_p99_s"),
    )
    start = study.start_configuration()
    for plan in (
        lambda it: make_plan(it, seed=1),
        lambda it: compare_plan(it, start, start, seed=1),
    ):
        with pytest.raises(
            UsageError, match=r"takes 30.* s, and a window with its lead-in"
        ) as told:
            plan(replayed)
        assert 'method.window = "' in (told.value.hint or "")
        whole = structs.replace(replayed.method, window_s=35.0)
        assert plan(structs.replace(replayed, method=whole)).seed == 1


def test_a_log_longer_than_the_window_of_a_phase_is_refused_too(study, tmp_path):
    log = tmp_path / "access.log"
    log.write_text("".join(LINE.format(second=s).replace("  ", " ") for s in (0, 30)))
    phases = (Phase(name="cold", window_s=4.0), Phase(name="warm"))
    method = structs.replace(study.method, window_s=35.0, phases=phases, decides="warm")
    replayed = structs.replace(
        study,
        workload=structs.replace(study.workload, arrival=Replay(log=str(log)), requests=()),
        objective=Objective(metric="latency_p99_s"),
        method=method,
    )
    with pytest.raises(UsageError, match=r"the window of phase cold 4\.00 s"):
        make_plan(replayed, seed=1)
    whole = structs.replace(method, phases=(Phase(name="cold"), Phase(name="warm")))
    assert make_plan(structs.replace(replayed, method=whole), seed=1).seed == 1
