from hypothesis import given
from hypothesis import strategies as st

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
    assert told(written) == {name: level_text(value) for name, value in levels.items()}


def test_the_last_of_each_counts_in_both_spellings():
    line = ("--workers", "2", "--access-log", "--workers=3", "--no-access-log", "workers", "4")
    assert told(line) == {"workers": "3", "access_log": "false"}


def test_a_process_that_is_ending_has_no_words():
    assert told(()) == {}


def test_no_limit_has_no_flag_and_knobs_of_the_application_have_none():
    assert flags({"limit_concurrency": 0, "limit_max_requests": 0, "cache": "big"}) == []
