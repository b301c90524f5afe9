"""`[[method.phases]]` of a study file."""

import pytest

from httpdyno.errors import StudyFileError
from httpdyno.model import Phase
from httpdyno.study.file import load_study

STUDY = """
format = 2
name = "shop"
title = "The shop"

[server]
adapter = "apache"
base = "app.conf"

[[knobs]]
name = "cache"
start = "off"
levels = ["disk"]

[method]
window = "500ms"
decides = "cold"

[[method.phases]]
name = "cold"
run = ["rm", "-rf", "{run}/cache"]

[[method.phases]]
name = "expired"
pause = "2500ms"

[[method.phases]]
name = "restart"
run = ["kill", "-USR1", "1"]
at = "200ms"
timeout = "5s"
"""
AT_A_RATE = f"""{STUDY}
[[method.phases]]
name = "burst"
rate = "300/s"
window = "2s"
requests = 500

[workload]
rate = "2/s"

[objective]
metric = "latency_p90_s"
"""


def read(folder, text):
    (folder / "app.conf").write_text("")
    (folder / "study.toml").write_text(text)
    return load_study(folder, lambda _: {})


def test_phases_are_read_in_their_order_and_starts_come_one_by_one(tmp_path):
    method = read(tmp_path, STUDY).method
    assert method.phases == (
        Phase(name="cold", run=("rm", "-rf", "{run}/cache")),
        Phase(name="expired", pause_s=2.5),
        Phase(
            name="restart",
            run=("kill", "-USR1", "1"),
            timeout_s=5.0,
            at_s=0.2,
        ),
    )
    assert (method.decides, method.side_by_side) == ("cold", 1)
    assert method.is_fresh
    assert method.turn_s == 3 * 0.5 + 2.5


def test_a_phase_has_a_rate_and_a_window_of_its_own(tmp_path):
    method = read(tmp_path, AT_A_RATE).method
    assert method.phases[-1] == Phase(name="burst", window_s=2.0, n_requests=500, rate_per_s=300.0)
    assert method.turn_s == 3 * 0.5 + 2.5 + 2.0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('rate = "2/s"', "connections = 2", "none without workload.rate"),
        ('rate = "2/s"', 'sessions = "2/s"', "none without workload.rate"),
        ('rate = "300/s"', 'rate = "0/s"', "a rate above zero"),
        ("requests = 500", "requests = 0", "at least 1"),
        ('window = "2s"', 'window = "2s"\nrun = ["true"]\nat = "2s"', r"phases\[3\].window, 2s"),
    ],
)
def test_what_the_load_has_no_such_thing_of_is_refused(tmp_path, old, new, words):
    assert old in AT_A_RATE
    with pytest.raises(StudyFileError, match=words):
        read(tmp_path, AT_A_RATE.replace(old, new, 1))


def test_the_last_phase_decides_where_nothing_is_said(tmp_path):
    assert read(tmp_path, STUDY.replace('decides = "cold"\n', "")).method.decides == "restart"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('decides = "cold"', 'decides = "warm"', "cold, expired, restart"),
        ('name = "expired"', 'name = "cold"', "a word of its own"),
        ('name = "expired"', 'name = ""', "a word of its own"),
        ('run = ["kill", "-USR1", "1"]\n', "", "a command"),
        ('pause = "2500ms"', 'pause = "soon"', "a duration"),
        ('at = "200ms"', 'at = "500ms"', "less than method.window, 500ms"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, old, new, words):
    assert old in STUDY
    with pytest.raises(StudyFileError, match=words):
        read(tmp_path, STUDY.replace(old, new, 1))
