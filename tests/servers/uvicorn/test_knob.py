from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.model import level_text
from httpdyno.servers.uvicorn.knob import KNOBS, flags, told

LEVELS = {
    "integer": st.integers(1, 100),
    "boolean": st.booleans(),
}


def level(info):
    return st.sampled_from(info.choices) if info.choices else LEVELS[info.kind]


@given(
    st.lists(st.sampled_from(sorted(KNOBS)), unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: level(KNOBS[name]) for name in names})
    )
)
def test_what_is_written_on_a_command_line_is_read_there(levels):
    written = ("python", "-m", "uvicorn", "a:b", *flags(levels))
    usual = {name: info.default for name, info in KNOBS.items()}
    assert told(written, {}) == {k: level_text(v) for k, v in {**usual, **levels}.items()}


def test_the_last_of_each_counts_in_both_spellings():
    line = ("--workers", "2", "--access-log", "--workers=3", "--no-access-log", "workers", "4")
    said = told(line, {"UVICORN_WORKERS": "5", "UVICORN_BACKLOG": "9", "UVICORN_LIFESPAN": None})
    assert (said["workers"], said["access_log"], said["backlog"]) == ("3", "false", "9")
    assert "lifespan" not in said


@each_row(
    ("variables", "name", "text"),
    [
        ({"UVICORN_ACCESS_LOG": "0"}, "access_log", "false"),
        ({"UVICORN_ACCESS_LOG": "Yes"}, "access_log", "true"),
        ({"WEB_CONCURRENCY": "4"}, "workers", "4"),
        ({"WEB_CONCURRENCY": "4", "UVICORN_WORKERS": "2"}, "workers", "2"),
        ({"UVICORN_LOG_LEVEL": ""}, "log_level", "info"),
    ],
)
def test_variables_say_what_no_flag_does(variables, name, text):
    assert told(("uvicorn", "a:b"), variables)[name] == text


def test_a_process_that_is_ending_has_no_words():
    assert told((), {"WEB_CONCURRENCY": "4"}) == {}


def test_no_limit_has_no_flag_and_knobs_of_the_application_have_none():
    assert flags({"limit_concurrency": 0, "limit_max_requests": 0, "cache": "big"}) == []
