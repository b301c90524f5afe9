import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs
from tests.report import sample, sample_figures, sample_trouble
from tests.report.sample_sweep import memory_sweep
from tests.rows import each_row

from httpdyno.model import Knob
from httpdyno.reason import because
from httpdyno.report.shared import message
from httpdyno.report.shared.published import published
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.method import provenance

OUTCOMES = sample_trouble.all_outcomes()


def rounded(value: Any) -> Any:
    """Return the value with six significant digits: the last ones are the machine's own."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return value


def test_a_document_has_every_field_of_its_records() -> None:
    whole = OUTCOMES["ladder"]
    document = outcome_json(whole)
    assert whole.final is not None
    records = (
        (document, whole),
        (document["steps"][0], whole.steps[0]),
        (document["final"], whole.final),
        (document["final"]["a"], whole.final.a),
    )
    for plain, record in records:
        assert set(record.__struct_fields__) - plain.keys() <= {"latency"}
    assert document["schema_version"] == 2


def test_a_whole_document_is_as_agreed(golden: Callable[[str, str], None]) -> None:
    document = outcome_json(OUTCOMES["tied_compare"])
    text = json.dumps(rounded(document), indent=1, ensure_ascii=False)
    golden("report/tied_compare.json", f"{text}\n")


@each_row("name", OUTCOMES)
def test_the_json_is_strict(name: str) -> None:
    read = json.loads(json.dumps(outcome_json(OUTCOMES[name]), allow_nan=False))
    assert (read["id"], read["status"]) == (OUTCOMES[name].id, OUTCOMES[name].status)


def test_the_workload_is_that_of_the_start_as_on_the_page() -> None:
    whole = OUTCOMES["ladder"]
    of_load = Knob(name="connections", of="load", start=3, levels=(5,))
    study = structs.replace(whole.plan.study, knobs=(*whole.plan.study.knobs, of_load))
    loaded = structs.replace(whole, plan=structs.replace(whole.plan, study=study))
    assert study.workload.connections != 3
    assert "3 connections" in dict(provenance(loaded))["workload"]
    assert outcome_json(loaded)["plan"]["workload"]["connections"] == 3


def test_an_unbounded_interval_is_null_at_its_open_end() -> None:
    final = outcome_json(OUTCOMES["unbounded"])["final"]
    assert final["ratios"]["throughput"] == {
        "ratio": 1.2,
        "low": 0.0,
        "high": None,
        "confidence": 0.95,
    }


def test_steps_say_change_verdict_and_ratios_and_the_book_s_figure() -> None:
    step = outcome_json(OUTCOMES["ladder"])["steps"][0]
    assert step["change"] == "state_dir: disk → memory"
    assert step["changes"] == {"state_dir": ["disk", "memory"]}
    found = step["comparison"]
    assert (found["verdict"], step["kept"], step["book_ratio"]) == ("better", True, 2.16)
    assert found["ratios"]["throughput"]["low"] < 2.431 < found["ratios"]["throughput"]["high"]
    assert found["ratios"]["cpu_per_request"]["ratio"] == pytest.approx(1 / 2.431)
    assert {"latency_p50", "latency_p99"} <= found["ratios"].keys()


def test_arms_carry_what_their_servers_said_and_who_was_the_limit() -> None:
    arm = outcome_json(OUTCOMES["tie_break"])["final"]["b"]
    values = arm["effective"]["values"]
    assert (values["Timeout"], values["state_dir"]) == ("60", "memory")
    assert arm["limited_by"] == {"server": 23, "client_cpu": 1}


def test_every_ratio_of_a_comparison_is_in_its_claim() -> None:
    whole = sample.a_against_a()
    assert whole.final is not None
    ratios = {**whole.final.ratios, "latency_p999": sample_figures.interval(1.4, 0.2)}
    far = structs.replace(whole, final=structs.replace(whole.final, ratios=ratios))
    assert outcome_json(far)["final"]["ratios"]["latency_p999"]["ratio"] == 1.4
    assert "latency_p999" not in outcome_json(whole)["final"]["ratios"]


def test_the_final_claim_has_the_whole_configuration() -> None:
    document = outcome_json(OUTCOMES["ladder"])
    final = document["final"]
    assert final["a"]["configuration"]["state_dir"] == "disk"
    assert final["b"]["configuration"] == document["configuration"]
    assert document["configuration"]["session_serialize"] == 0
    assert document["plan"]["book_ratio"] == 3.96


def test_running_ratios_are_the_products_of_what_was_kept() -> None:
    steps = outcome_json(OUTCOMES["ladder"])["steps"]
    product = math.prod(
        s["comparison"]["ratios"]["throughput"]["ratio"] for s in steps if s["kept"]
    )
    assert steps[-1]["running_ratio"] == pytest.approx(product)


def test_what_time_was_too_short_for_is_named_with_the_time_it_takes() -> None:
    document = outcome_json(OUTCOMES["out_of_time"])
    assert document["not_tried"] == [
        "state_dir=memory",
        "asp_debug=0",
        "access_file=httpd.conf",
        "MaxConnectionsPerChild=500",
        "session_serialize=1",
    ]
    assert document["needed_s"] == 412.0
    assert document["final"] is None


def test_a_sweep_of_something_else_has_its_interval() -> None:
    sweep = outcome_json(memory_sweep())["sweep"]
    point = sweep["points"][1]
    assert (sweep["metric"], point["value"]) == ("pss_bytes", 4e7)
    assert point["low"] < 4e7 < point["high"]


def test_a_sweep_says_its_knee_its_best_and_each_level() -> None:
    sweep = outcome_json(OUTCOMES["sweep"])["sweep"]
    assert (sweep["knob"], sweep["unit"]) == ("MaxRequestWorkers", "processes")
    assert (sweep["knee"], sweep["best"]) == (8, 16)
    point = sweep["points"][7]
    assert point["level"] == 128
    assert point["ratio_to_best"]["ratio"] == pytest.approx(4610 / 6205)
    assert point["low"] < 4610 < point["high"]
    assert point["latency_p99_s"] == pytest.approx(300 / 4610 * 2.1)


def test_a_level_that_did_not_run_has_no_ratio_but_its_reason() -> None:
    point = outcome_json(OUTCOMES["sweep"])["sweep"]["points"][-1]
    assert (point["ratio_to_best"], point["latency_p99_s"]) == (None, 0.0)
    assert point["arm"]["status"] == "refused"
    assert "ServerLimit" in point["arm"]["detail"][0]["text"]


def test_what_is_no_number_is_null() -> None:
    document = outcome_json(sample.young_sweep())
    json.dumps(document, allow_nan=False)
    assert document["calibration"] == {"between_windows_sd": None}


def test_a_reason_has_its_code_its_parameters_and_its_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(message, "rows_of", lambda _: {"room.slow": "{n:count start} of {why}"})
    inner = {"code": "room.slow", "params": {"n": 1, "why": "x"}, "text": "1 start of x"}
    because_ = because("room.slow", n=2, why=because("room.slow", n=1, why="x"))
    assert published({"reason": because_}) == {
        "reason": {
            "code": "room.slow",
            "params": {"n": 2, "why": inner},
            "text": "2 starts of 1 start of x",
        }
    }
