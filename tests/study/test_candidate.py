"""`[[candidates]]`: several knobs at once."""

import tomllib

import pytest

from httpdyno.cli.plan_text import plan_lines
from httpdyno.errors import StudyFileError
from httpdyno.experiment.design.plan import make_plan
from httpdyno.model import Candidate, KnobInfo
from httpdyno.study.file import study_from

TEXT = """
format = 2
name = "shop"
title = "A shop"

[server]
adapter = "fake"

[[knobs]]
name = "workers"
start = 1
levels = [4]

[[knobs]]
name = "worker_class"
start = "sync"

[[knobs]]
name = "threads"
start = 1

[[candidates]]
name = "threads at once"
title = "threads in place of processes"
why = "they wait for the database most of the time"
set = { workers = 2, worker_class = "gthread", threads = 4 }
book_ratio = 1.8

[[candidates]]
name = "gevent"
set = { worker_class = "gevent" }
"""
INFOS = {
    "threads": KnobInfo(name="threads", summary="", kind="integer", minimum=1, maximum=64),
    "worker_class": KnobInfo(
        name="worker_class", summary="", kind="choice", choices=("sync", "gthread", "gevent")
    ),
}


def _study(folder, text=TEXT):
    return study_from(tomllib.loads(text), folder / "study.toml", lambda _: INFOS)


def test_candidates_are_read_and_are_the_first_steps(tmp_path):
    study = _study(tmp_path)
    assert study.candidate("threads at once") == Candidate(
        name="threads at once",
        values={"workers": 2, "worker_class": "gthread", "threads": 4},
        title="threads in place of processes",
        why="they wait for the database most of the time",
        book_ratio=1.8,
    )
    plan = make_plan(study, seed=1)
    assert [step.whole_label for step in plan.steps] == [
        "threads at once: workers=2, worker_class=gthread, threads=4",
        "gevent: worker_class=gevent",
        "workers=4",
    ]
    assert plan.steps[0].book_ratio == 1.8
    assert "step 1    threads at once: workers=2, worker_class=gthread, threads=4" in plan_lines(
        plan
    )


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("format = 2", "format = 1", "candidates is not a key of format 1"),
        ('"gevent"\nset', '"a=b"\nset', "candidates[1] (a=b).name is 'a=b'; expected a name with"),
        ('"gevent"\nset', '"workers"\nset', "expected a name that no knob and no other candidate"),
        ('"gevent"\nset', '"threads at once"\nset', "expected a name that no knob and no other"),
        ("threads = 4", "thread = 4", "set is 'thread'; expected knobs of the study"),
        ("threads = 4", "threads = 400", "set.threads is 400; expected at most 64"),
        ("threads = 4", 'threads = "4"', "set.threads is '4'; expected the type of 1"),
        ('"gevent" }', '"sync" }', "expected something other than the start"),
        ('"gevent" }', '"even" }', "set.worker_class is 'even'; expected one of sync, gthread"),
        (
            'worker_class = "gevent" }',
            'workers = 2, worker_class = "gthread", threads = 4 }',
            "expected what no other candidate sets",
        ),
        (", threads = 4", "", "knobs[2] (threads).levels is []; expected levels other than"),
        (
            "[server]",
            '[method]\nkind = "sweep"\nknob = "workers"\n[server]',
            "expected ladder or",
        ),
        ("set = { worker_class", "to = { worker_class", "candidates[1].to is not a key"),
    ],
)
def test_what_makes_no_sense_of_candidates_is_named(tmp_path, before, after, said):
    assert before in TEXT
    with pytest.raises(StudyFileError) as caught:
        _study(tmp_path, TEXT.replace(before, after))
    assert said in str(caught.value)


def test_a_knob_without_levels_that_no_candidate_sets_is_refused(tmp_path):
    text = TEXT[: TEXT.index("[[candidates]]")]
    with pytest.raises(StudyFileError, match=r"\(worker_class\)\.levels is \[\]; expected levels"):
        _study(tmp_path, text)
