"""`method.warm_up_requests` of a study file."""

import pytest

from httpdyno.errors import StudyFileError
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
warm_up = "20s"
warm_up_requests = 4000
"""
AT_A_RATE = f'{STUDY}\n[workload]\nrate = "200/s"\n[objective]\nmetric = "latency_p90_s"\n'


def read(folder, text):
    (folder / "app.conf").write_text("")
    (folder / "study.toml").write_text(text)
    return load_study(folder, lambda _: {})


@pytest.mark.parametrize("text", [STUDY, AT_A_RATE])
def test_a_warm_up_may_be_a_number_of_answers_and_has_a_longest_time(tmp_path, text):
    method = read(tmp_path, text).method
    assert (method.warm_up_requests, method.warm_up_s) == (4000, 20.0)


def test_unless_said_it_is_a_time(tmp_path):
    assert read(tmp_path, STUDY.replace("warm_up_requests = 4000", "")).method.warm_up_requests == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (STUDY.replace("= 4000", "= 0"), "method.warm_up_requests is 0; expected at least 1"),
        (STUDY.replace('"20s"', '"0s"'), "method.warm_up is '0s'; expected the longest that"),
        (AT_A_RATE.replace("200/s", "199/s"), "expected at most 3980: 199/s for `method.warm_up`"),
        (
            AT_A_RATE.replace('rate = "200/s"', "stages = '40ms: 100/s..200/s'"),
            "expected none but of users who wait for answers, or of a steady rate",
        ),
    ],
)
def test_what_nothing_would_reach_is_refused(tmp_path, text, said):
    with pytest.raises(StudyFileError) as error:
        read(tmp_path, text)
    assert said in str(error.value)
