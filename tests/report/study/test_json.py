import json
import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import structs
from tests.report import sample, sample_figures, sample_trouble
from tests.report.sample_sweep import memory_sweep

from httpdyno.model import Knob
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.json_record import OutcomeJson
from httpdyno.report.study.provenance import provenance

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


def kinds(value: Any, path: str = "") -> set[str]:
    """Return the path of each leaf with its JSON type; items of a list have one path."""
    if isinstance(value, dict):
        return set().union(*(kinds(item, f"{path}.{key}") for key, item in value.items()))
    if isinstance(value, list):
        return set().union(*(kinds(item, f"{path}[]") for item in value))
    name = {str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
    return {f"{path.removeprefix('.')}: {name[type(value)]}"}


def test_the_documents_have_the_agreed_fields(golden: Callable[[str, str], None]) -> None:
    """Names and types of all kinds of outcome; what one figure means has a test of its own."""
    documents = [json.loads(json.dumps(outcome_json(each))) for each in OUTCOMES.values()]
    found = sorted(set().union(*map(kinds, documents)))
    golden("report/fields.txt", "".join(f"{line}\n" for line in found))


def test_a_whole_document_is_as_agreed(golden: Callable[[str, str], None]) -> None:
    document = outcome_json(OUTCOMES["tied_compare"])
    text = json.dumps(rounded(document), indent=1, ensure_ascii=False)
    golden("report/tied_compare.json", f"{text}\n")


@pytest.mark.parametrize("name", OUTCOMES)
def test_the_json_is_what_its_types_say_and_strict(name: str) -> None:
    text = json.dumps(outcome_json(OUTCOMES[name]), allow_nan=False)
    read = msgspec.json.decode(text, type=OutcomeJson)
    assert read.id == OUTCOMES[name].id


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
    assert (step["verdict"], step["kept"], step["book_ratio"]) == ("better", True, 2.16)
    assert step["ratios"]["throughput"]["low"] < 2.431 < step["ratios"]["throughput"]["high"]
    assert step["ratios"]["cpu_per_request"]["ratio"] == pytest.approx(1 / 2.431)
    assert {"latency_p50", "latency_p99"} <= step["ratios"].keys()
    assert {"running_ratio", "needed_s"} <= step.keys()


def test_arms_carry_what_their_servers_said_and_who_was_the_limit() -> None:
    arm = outcome_json(OUTCOMES["tie_break"])["final"]["after_arm"]
    assert (arm["effective"]["Timeout"], arm["effective"]["state_dir"]) == ("60", "memory")
    assert arm["limited_by"] == {"server": 23, "client_cpu": 1}


def test_every_ratio_of_a_comparison_is_in_its_claim() -> None:
    whole = sample.a_against_a()
    assert whole.final is not None
    ratios = {**whole.final.ratios, "latency_p999": sample_figures.interval(1.4, 0.2)}
    far = structs.replace(whole, final=structs.replace(whole.final, ratios=ratios))
    assert outcome_json(far)["final"]["ratios"]["latency_p999"]["ratio"] == 1.4
    assert "latency_p999" not in outcome_json(whole)["final"]["ratios"]


def test_the_final_claim_names_what_changed_and_the_whole_configuration() -> None:
    document = outcome_json(OUTCOMES["ladder"])
    final = document["final"]
    assert final["change"] == (
        "state_dir: disk → memory, asp_debug: 1 → 0, MaxConnectionsPerChild: 50 → 500"
    )
    assert final["configuration"] == document["configuration"]
    assert final["configuration"]["session_serialize"] == 0
    assert final["book_ratio"] == 3.96


def test_running_ratios_are_the_products_of_what_was_kept() -> None:
    steps = outcome_json(OUTCOMES["ladder"])["steps"]
    product = math.prod(s["ratios"]["throughput"]["ratio"] for s in steps if s["kept"])
    assert steps[-1]["running_ratio"] == pytest.approx(product)


def test_a_comparison_with_itself_has_no_change_and_no_figure_of_the_book() -> None:
    final = outcome_json(OUTCOMES["compare"])["final"]
    assert (final["change"], final["book_ratio"]) == ("no change", None)


def test_what_time_was_too_short_for_is_named_with_the_time_it_takes() -> None:
    document = outcome_json(OUTCOMES["out_of_time"])
    assert document["not_tried"] == (
        "state_dir=memory",
        "asp_debug=0",
        "access_file=httpd.conf",
        "MaxConnectionsPerChild=500",
        "session_serialize=1",
    )
    assert document["needed_s"] == 412.0
    assert document["final"] is None


def test_a_sweep_of_something_else_says_no_interval_of_the_throughput() -> None:
    sweep = outcome_json(memory_sweep())["sweep"]
    point = sweep["points"][1]
    assert (sweep["metric"], point["value"], point["throughput_low_per_s"]) == (
        "pss_bytes",
        4e7,
        None,
    )
    assert point["low"] < 4e7 < point["high"]


def test_a_sweep_says_its_knee_its_best_and_each_level() -> None:
    sweep = outcome_json(OUTCOMES["sweep"])["sweep"]
    assert (sweep["knob"], sweep["unit"]) == ("MaxRequestWorkers", "processes")
    assert (sweep["knee"], sweep["best"]) == (8, 16)
    point = sweep["points"][7]
    assert (point["level"], point["book_ratio"]) == (128, 0.99)
    assert point["ratio_to_best"]["ratio"] == pytest.approx(4610 / 6205)
    assert point["throughput_low_per_s"] < 4610 < point["throughput_high_per_s"]
    assert point["latency_p99_s"] == pytest.approx(300 / 4610 * 2.1)


def test_a_level_that_did_not_run_has_no_ratio_but_its_reason() -> None:
    point = outcome_json(OUTCOMES["sweep"])["sweep"]["points"][-1]
    assert (point["ratio_to_best"], point["latency_p99_s"]) == (None, None)
    assert point["arm"]["status"] == "refused"
    assert "ServerLimit" in point["arm"]["detail"]


def test_the_schema_describes_every_field_of_the_document() -> None:
    schema = msgspec.json.schema(OutcomeJson)
    described = schema["$defs"]["OutcomeJson"]["properties"]
    assert described.keys() == outcome_json(OUTCOMES["ladder"]).keys()
    step = schema["$defs"]["StepJson"]["properties"]
    assert step.keys() == outcome_json(OUTCOMES["ladder"])["steps"][0].keys()


def test_what_is_no_number_is_null_or_left_out() -> None:
    document = outcome_json(sample.young_sweep())
    json.dumps(document, allow_nan=False)
    point = document["sweep"]["points"][3]
    assert (point["throughput_low_per_s"], point["throughput_high_per_s"]) == (None, None)
    assert point["latency_p99_s"] is None
    assert document["calibration"] == {}
