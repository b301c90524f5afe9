import pytest

from httpdyno.errors import AdapterError
from httpdyno.model import Configuration, Level, ServerSpec
from httpdyno.servers.command.seen import Reach, reaches
from httpdyno.servers.render import Variables

SPEC = ServerSpec(
    adapter="command",
    command=("serve", "--threads={knob.threads}", "--port", "{port}", "{{ knob.cache }}"),
    environment={"WEB_CONCURRENCY": "{knob.workers}", "DEBUG": "{{ knob.debug or knob.trace }}"},
)
LEVELS: dict[str, Level] = {
    "threads": 4,
    "cache": "big",
    "workers": 2,
    "debug": False,
    "trace": True,
    "other": 1,
}
VARIABLES = Variables.placeholders(SPEC, Configuration(values=LEVELS), server_user="me")


def test_each_knob_is_followed_to_where_it_went():
    assert reaches(SPEC, VARIABLES) == {
        "threads": Reach(arguments=("--threads=4",), environment={}),
        "cache": Reach(arguments=("big",), environment={}),
        "workers": Reach(environment={"WEB_CONCURRENCY": "2"}),
        "debug": Reach(environment={"DEBUG": "true"}),
        "trace": Reach(environment={"DEBUG": "true"}),
        "other": Reach(environment={}),
    }


def test_what_is_in_neither_is_nowhere():
    found = reaches(SPEC, VARIABLES)
    assert [name for name, reach in found.items() if reach.is_nowhere] == ["other"]


def test_an_unknown_knob_is_an_error():
    spec = ServerSpec(adapter="command", command=("serve", "{knob.nope}"))
    with pytest.raises(AdapterError, match="no knob of that name"):
        reaches(spec, VARIABLES)
