"""Which metric, and which phase, decides or is told besides, as the command line says it."""

import shutil

import pytest

from httpdyno.catalog import bundled_studies
from httpdyno.cli.app import run


@pytest.mark.parametrize("command", [["tune"], ["compare", "--b", "workers=2"]])
def test_a_command_may_ask_for_a_verdict_of_another_metric(command, capsys):
    words = [command[0], "bookmarks", *command[1:], "--also", "p99_s", "--dry-run", "--seed", "7"]
    assert run(words) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "(reported beside it: cpu_s_per_request, latency_p99_s)" in shown


def test_a_metric_that_is_none_or_decides_is_refused_with_those_that_there_are(capsys):
    assert run(["tune", "bookmarks", "--also", "speed", "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert "`--also`: `speed` cannot be told beside the metric" in said
    assert "latency_p99_s" in said


@pytest.mark.parametrize(
    ("metric", "words"),
    [("page_p90_s", "a workload with pages"), ("usual_p50_s", "in which some are `slow`")],
)
def test_a_metric_that_the_load_has_no_figure_of_is_refused_before_a_run(metric, words, capsys):
    assert run(["tune", "bookmarks", "--also", metric, "--dry-run"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert f"study bookmarks has no {metric}" in said
    assert words in said
    with_pages = ["compare", "keep-alive", "--b", "keep_alive=5s", "--also", "page_p90_s"]
    assert run([*with_pages, "--dry-run"]) == 0


def test_a_metric_of_which_one_side_has_no_figure_is_refused_before_a_run(capsys):
    without_pages = ["--a", "objects=0", "--b", "objects=0,keep_alive=5s", "--dry-run"]
    assert run(["compare", "keep-alive", *without_pages, "--also", "page_p90_s"]) == 2
    assert "it has no page_p90_s" in " ".join(capsys.readouterr().err.split())
    assert run(["compare", "keep-alive", *without_pages]) == 0


def test_a_metric_of_which_a_level_has_no_figure_is_refused_before_a_run(tmp_path, capsys):
    shutil.copytree(bundled_studies()["keep-alive"].parent, tmp_path / "pages")
    file = tmp_path / "pages" / "study.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("start = 6\n", "start = 6\nlevels = [0, 12]\n"), "utf-8")
    command = ["tune", str(file), "--dry-run"]
    assert run([*command, "--also", "page_p90_s"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "with objects=0: it has no page_p90_s, which takes a workload with pages" in said
    assert run([*command, "--also", "p90_s"]) == 0


def test_a_comparison_may_be_decided_by_another_phase(capsys):
    words = [
        "compare",
        "cache-phases",
        "--b",
        "cache=disk",
        "--budget",
        "2m",
        "--dry-run",
        "--phase",
    ]
    assert run([*words, "expired"]) == 0
    assert "`expired` decides" in " ".join(capsys.readouterr().out.split())
    assert run([*words, "late"]) == 2
    assert "its phases: cold, warm, expired" in " ".join(capsys.readouterr().err.split())


def test_a_run_that_goes_on_has_its_own_metrics(capsys):
    assert run(["tune", "--resume", "20250611-book-5ec0", "--also", "p99_s"]) == 2
    assert "leave out `--also` with `--resume`" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["tune"], ["study", "run"], ["compare", "--b", "workers=2"]])
def test_a_command_may_have_another_metric_decide(command, capsys):
    at = 2 if command[0] == "study" else 1
    words = [*command[:at], "bookmarks", *command[at:], "--metric", "p95_s"]
    assert run([*words, "--also", "p99_s", "--dry-run", "--seed", "7"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "latency_p95_s (reported beside it: cpu_s_per_request, latency_p99_s)" in shown


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("speed", "`--metric`: `speed` cannot decide study bookmarks"),
        ("page_p95_s", "it takes a workload with pages"),
    ],
)
def test_a_metric_that_cannot_decide_is_refused_before_a_run(metric, words, capsys):
    assert run(["tune", "bookmarks", "--metric", metric, "--dry-run"]) == 2
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_stored_run_has_its_own_metric(capsys):
    assert run(["tune", "--resume", "1", "--metric", "p95_s"]) == 2
    assert "leave out `--metric` with `--resume`" in capsys.readouterr().err
