"""What `httpdyno study check` says of a copy that answers otherwise than it was rehearsed."""

import json

import pytest

from httpdyno.cli import study_check
from httpdyno.cli.app import run
from httpdyno.experiment.answer.likeness import UnlikeRehearsalError
from httpdyno.experiment.design.smoke_test import Answered, OneStart
from httpdyno.model import Effective, Measurement, StartRecord, WindowRecord
from httpdyno.model.telemetry import Telemetry
from httpdyno.reason import because

WORDS = (
    "a copy of bookmarks answers otherwise than in its smoke test of 2026-11-27: "
    "GET /list with another body: the first difference is at byte 1: `Setup Error: data is not "
    "writabl…` in place of `<p>row 0: all that is in it</p>`"
)
FOUND = OneStart(
    version="gunicorn 27.0.1",
    ready_s=0.2,
    effective=Effective(),
    answers=(
        Answered(
            request="GET /list",
            expected=because("experiment.right_by_status", status=200),
            status=200,
            why=None,
            duration_s=0.003,
            n_bytes=40,
            is_right=True,
        ),
    ),
)


@pytest.fixture
def unlike(monkeypatch):
    """Have the study's start answer otherwise than its rehearsal; nothing is started."""

    def refused(*_, **__):
        raise UnlikeRehearsalError(because("experiment.said", words=WORDS))

    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(study_check, "rehearse", lambda *_: ())
    monkeypatch.setattr(study_check, "one_start", lambda *_: FOUND)
    monkeypatch.setattr(study_check, "start_of_two", refused)


def test_a_difference_from_the_rehearsal_is_said_with_the_way_out(unlike, capsys, golden):
    assert run(["study", "check", "bookmarks"]) == 1
    golden("study/check-unlike-rehearsal.txt", capsys.readouterr().out)


def test_scripts_get_it_as_a_sentence(unlike, capsys):
    assert run(["study", "check", "bookmarks", "--json", "-"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["unlike_rehearsal"], found["start_s"]) == (f"wrong response: {WORDS}", None)


def window(arm):
    wrong = Measurement(
        opened_s=0.0,
        measured_s=0.5,
        total_s=0.6,
        offered=624,
        completed=312,
        errors={"wrong_status": 312},
        statuses={"200": 312, "429": 312},
    )
    return WindowRecord(
        comparison=0, start=0, block=0, arm=arm, measurement=wrong, telemetry=Telemetry(cpu_s=0.1)
    )


def test_what_answers_once_and_not_under_load_does_not_pass(unlike, capsys, monkeypatch):
    record = StartRecord(
        comparison=0,
        start=0,
        began_at="",
        duration_s=3.0,
        statuses=("complete", "complete"),
        windows=(window(0), window(1)),
    )
    monkeypatch.setattr(study_check, "start_of_two", lambda *_, **__: record)
    assert run(["study", "check", "bookmarks"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "under load it did not hold: the workload got status 429 in 312 of 624 requests" in said
