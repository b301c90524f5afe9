"""What `httpdyno load` writes, and what it refuses to before any load is sent."""

import json
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.report.sample_load import load_measurement, load_outcome, with_timeouts

from httpdyno.cli.load.output import LoadOutputs
from httpdyno.errors import OutputError, UsageError

FILES = ("json", "csv", "hgrm", "hlog", "prometheus")


def asking_for(files: dict[str, Any]) -> LoadOutputs:
    return LoadOutputs(**files)


def test_every_file_that_was_asked_for_is_written(tmp_path, capsys):
    outputs = asking_for({name: str(tmp_path / name) for name in FILES})
    outputs.check()
    assert outputs.write(load_outcome()) == 0
    assert capsys.readouterr().out.startswith("12,345 of 12,345 requests completed")
    assert json.loads((tmp_path / "json").read_text())["completed"] == 12_345
    assert (tmp_path / "csv").read_text().startswith("t_s,offered,")
    assert (tmp_path / "hgrm").read_text().split()[0] == "Value"
    assert "log format version 1.3" in (tmp_path / "hlog").read_text()
    assert list(text_string_to_metric_families((tmp_path / "prometheus").read_text()))


@pytest.mark.parametrize("name", [*FILES, "html"])
def test_only_what_httpdyno_wrote_is_written_anew(name, tmp_path, capsys):
    file = tmp_path / "file"
    outputs = asking_for({name: str(file)})
    outputs.write(load_outcome())
    outputs.check()
    outputs.write(load_outcome())
    file.write_text("name,password\njoe,secret\n")
    with pytest.raises(UsageError, match=f"`--{name} {file}` is a file that httpdyno did not"):
        outputs.check()
    with pytest.raises(UsageError, match="did not write"):
        outputs.write(load_outcome())
    assert file.read_text().startswith("name,password")
    asking_for({name: str(file), "force": True}).check()
    assert "requests completed" in capsys.readouterr().out


def test_a_terminal_that_is_gone_takes_no_file_away(tmp_path, monkeypatch):
    def gone(*_: Any) -> None:
        raise OutputError("stdout cannot be written")

    monkeypatch.setattr(LoadOutputs, "_show", gone)
    with pytest.raises(OutputError):
        asking_for({name: str(tmp_path / name) for name in FILES}).write(load_outcome())
    assert {each.name for each in tmp_path.iterdir()} == {*FILES}


@pytest.mark.parametrize("name", FILES)
def test_one_of_them_on_stdout_is_all_there_is(name, capsys):
    asking_for({name: "-"}).write(load_outcome())
    seen = capsys.readouterr()
    assert "requests completed" not in seen.out
    assert seen.out
    assert seen.err == ""


def test_thresholds_are_answered_on_stderr_when_stdout_is_taken(capsys):
    outcome = load_outcome(fail_if=("p99 > 1ms",))
    assert LoadOutputs(json="-", fail_if=outcome.fail_if).write(outcome) == 1
    seen = capsys.readouterr()
    assert json.loads(seen.out)["thresholds"][0]["passed"] is False
    assert " ".join(seen.err.split()) == "FAIL fail if p99 > 1ms p99 was 9.89 ms"


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (load_outcome(), 0),
        (load_outcome(fail_if=("p99 > 1s",)), 0),
        (load_outcome(fail_if=("p99 > 1ms",)), 1),
        (load_outcome(load_measurement(completed=500), fail_if=("p99 > 1s",)), 1),
        (with_timeouts(), 1),
    ],
)
def test_the_exit_code_is_the_answer(outcome, code, capsys):
    assert LoadOutputs(fail_if=outcome.fail_if).write(outcome) == code
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"csv": "/none/load.csv"}, "`--csv /none/load.csv` is in a folder that does not exist"),
        ({"hgrm": "/"}, "`--hgrm /` is a folder, expected a file"),
        ({"hlog": "/none/x"}, "`--hlog /none/x` is in a folder that does not exist"),
        ({"prometheus": "/none/x"}, "`--prometheus /none/x` is in a folder"),
        ({"html": "/none/x.html"}, "`--html /none/x.html` is in a folder"),
        ({"html": "-"}, "`--html` writes a file, not stdout"),
        ({"json": "-", "csv": "-"}, "`--json -` and `--csv -` cannot both have stdout"),
        ({"fail_if": ("p99 > fast",)}, "`fast` is not a duration"),
    ],
)
def test_what_cannot_be_written_or_judged_is_refused_at_once(given, complaint):
    with pytest.raises(UsageError) as raised:
        LoadOutputs(**given).check()
    assert complaint in str(raised.value)


def test_the_histogram_and_all_else_come_when_asked_for(capsys):
    LoadOutputs().write(load_outcome())
    usual = capsys.readouterr().out
    LoadOutputs(histogram=True).write(load_outcome())
    with_histogram = capsys.readouterr().out
    LoadOutputs(verbose=True).write(load_outcome())
    verbose = capsys.readouterr().out
    assert "█████" in with_histogram
    assert "percentile" in with_histogram
    assert "every request" in verbose
    assert len(usual.splitlines()) < len(with_histogram.splitlines())
    assert len(usual.splitlines()) < len(verbose.splitlines())
