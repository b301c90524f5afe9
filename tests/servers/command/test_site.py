from pathlib import Path

import pytest
from tests.rows import each_row
from tests.servers.nginx.seats import OpenSeat

from httpdyno.errors import AdapterError
from httpdyno.model import ChangeSet, Configuration, Member, Survey
from httpdyno.servers.command.server import Command, Node
from httpdyno.servers.stack.adapter import MemberFiles

NOTHING = MemberFiles(texts={})


def surveyed(*command, adapter=None):
    member = Member(name="api", kind="command", command=command, folder="/srv/api")
    return (adapter or Command()).survey(member, NOTHING, None)


def test_options_with_numbers_are_knobs_with_the_value_as_found():
    survey = surveyed("./api", "--threads", "4", "--cache=16", "--port", "80", "--name", "x")
    knobs = Command().knobs(survey)
    assert {name: info.default for name, info in knobs.items()} == {
        "threads": 4,
        "cache": 16,
        "MALLOC_ARENA_MAX": 0,
    }
    assert [each.address for each in survey.listeners] == ["127.0.0.1:80"]


def test_what_is_before_a_script_is_its_interpreters():
    survey = surveyed("node", "--stack-size=100", "server.js", "--threads=4", adapter=Node())
    assert set(Node().knobs(survey)) == {
        "threads",
        "UV_THREADPOOL_SIZE",
        "WEB_CONCURRENCY",
        "NODE_ENV",
        "MALLOC_ARENA_MAX",
    }


def test_changes_are_arguments_at_the_end_and_variables():
    survey = surveyed("node", "server.js", "--threads=4", "--cache", "1", adapter=Node())
    changes = Node().change_set(
        survey, NOTHING, {"threads": 8, "cache": 2, "UV_THREADPOOL_SIZE": 16}
    )
    assert changes == ChangeSet(
        arguments=("--threads=8", "--cache", "2"),
        removed_arguments=("--threads=4", "--cache", "1"),
        environment={"UV_THREADPOOL_SIZE": "16"},
    )
    as_found = {"threads": 4, "cache": 1, "UV_THREADPOOL_SIZE": 4}
    assert Node().change_set(survey, NOTHING, as_found) == ChangeSet()


def test_an_option_that_shares_its_value_comes_again_as_it_was():
    survey = surveyed("./api", "--port", "4", "--threads", "4", "--cache", "4", "--rate", "9")
    changes = Command().change_set(survey, NOTHING, {"threads": 8})
    assert changes.removed_arguments == ("--port", "4", "--threads", "--cache")
    assert changes.arguments == ("--port", "4", "--threads", "8", "--cache", "4")


@each_row(
    "command",
    [
        ("./api", "--threads", "4", "serve"),
        ("./api", "serve", "4", "--threads", "4"),
        ("./api", "--threads", "4", "--threads", "5"),
        ("./api", "--threads=4", "--threads", "5"),
        ("node", "--threads", "4", "server.js"),
        ("node", "--stack-size=4", "-r", "4", "server.js", "--threads", "4"),
        ("node", "--threads=4", "server.js", "--threads", "5"),
    ],
)
def test_an_option_that_cannot_be_moved_for_sure_is_no_knob(command):
    assert not {"threads", "--threads"} & set(Command().knobs(surveyed(*command)))


def test_what_cannot_be_set_is_refused_with_what_can():
    with pytest.raises(AdapterError, match="`workers` is nothing that can be set") as caught:
        Command().change_set(surveyed("./api"), NOTHING, {"workers": 1})
    assert caught.value.hint == "what can: MALLOC_ARENA_MAX"


def test_a_port_of_httpdynos_choice_is_where_it_listens():
    listeners = surveyed("node", "server.js", "{port}").listeners
    assert [each.address for each in listeners] == ["127.0.0.1:8080"]
    assert surveyed("node", "server.js").listeners == ()


def test_a_member_without_a_command_is_an_error_that_says_what_to_give():
    with pytest.raises(AdapterError) as caught:
        Command().read(Member(name="api", kind="command"))
    assert 'command = ["node", "server.js"]' in caught.value.hint


@each_row(
    ("arguments", "is_node"),
    [(("node", "server.js"), True), (("python3", "server.py"), False), (("npm", "start"), False)],
)
def test_node_is_recognised_by_its_program(arguments, is_node):
    found = Node().of_process(f"/usr/bin/{arguments[0]}", arguments, "/srv")
    assert (found is not None) == is_node


class TestVariables:
    """Those of a program's environment that a person named."""

    @staticmethod
    def told(*names, command=("./api",), **of_member):
        member = Member(name="api", kind="command", command=command, **of_member)
        site = Command()
        survey = site.survey(member, NOTHING, None)
        assert isinstance(survey, Survey)
        return site.with_variables(member, survey, names)

    def test_a_named_variable_is_a_knob_that_starts_unset(self):
        survey = self.told("SLOW")
        info = Command().knobs(survey)["env.SLOW"]
        assert (info.kind, info.default, info.evidence) == ("text", "", "seen")
        changed = Command().change_set(survey, NOTHING, {"env.SLOW": "yes"})
        assert changed == ChangeSet(environment={"SLOW": "yes"})
        assert Command().change_set(survey, NOTHING, {"env.SLOW": ""}) == ChangeSet()

    def test_one_of_its_service_starts_as_found_and_no_other_value_is_stored(self, tmp_path):
        (tmp_path / "env").write_text("SLOW=no\nPASSWORD=canary\nWEB_CONCURRENCY=7\n")
        of_service = {
            "environment_names": ("SLOW", "PASSWORD", "WEB_CONCURRENCY"),
            "environment_from": str(tmp_path / "env"),
        }
        survey = self.told("SLOW", command=("node", "a.js"), **of_service)
        knobs = Command().knobs(survey)
        assert knobs["env.SLOW"].default == "no"
        assert knobs["WEB_CONCURRENCY"].default == 7  # known by its name to be no secret
        assert "canary" not in str(survey)
        changed = Command().change_set(survey, NOTHING, {"env.SLOW": ""})
        assert changed.environment == {"SLOW": ""}

    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("NODE_ENV=development", "development"),
            ("NODE_ENV=S3cret-that-somebody-put-here", None),
            ("NODE_ENV=", ""),
            ("PATH=/bin", ""),
        ],
    )
    def test_a_known_variable_starts_as_found_where_it_may_be_that(self, tmp_path, text, found):
        (tmp_path / "env").write_text(f"{text}\n")
        names = (text.partition("=")[0],)
        survey = self.told(
            command=("node", "a.js"),
            environment_names=names,
            environment_from=str(tmp_path / "env"),
        )
        info = Command().knobs(survey).get("NODE_ENV")
        assert (info.default if info else None) == found

    @pytest.mark.parametrize(
        ("of_member", "is_knob"),
        [
            ({}, True),
            ({"environment_names": ("MALLOC_ARENA_MAX",), "environment_from": "/none"}, False),
            ({"command": ("/usr/bin/env", "-i", "MALLOC_ARENA_MAX=2", "./api")}, False),
            ({"command": ("/usr/bin/env", "./api", "MALLOC_ARENA_MAX=2")}, True),
        ],
    )
    def test_a_known_variable_whose_value_nobody_can_say_or_set_is_no_knob(
        self, of_member, is_knob
    ):
        knobs = Command().knobs(self.told(**of_member))
        assert ("MALLOC_ARENA_MAX" in knobs) == is_knob

    def test_an_option_that_looks_like_one_is_none(self):
        assert "env.SLOW" not in Command().knobs(surveyed("./api", "--env.SLOW=3"))

    @pytest.mark.parametrize(
        ("name", "command", "words"),
        [
            ("MALLOC_ARENA_MAX", ("./api",), "is a knob under its own name"),
            ("PATH", ("./api",), "copies get one of their own"),
            ("SLOW", ("/usr/bin/env", "SLOW=no", "./api"), "sets `SLOW` itself"),
        ],
    )
    def test_one_that_cannot_be_set_is_refused(self, name, command, words):
        with pytest.raises(AdapterError, match=words):
            self.told(name, command=command)


@each_row(
    ("words", "address"),
    [
        (("--host", "10.0.0.5", "--port", "80"), "10.0.0.5:80"),
        (("--host", "localhost", "--port", "80"), "127.0.0.1:80"),
        (("--host", "shop.example", "--port", "80"), "127.0.0.1:80"),
        (("--bind", "0.0.0.0:{port}"), "0.0.0.0:8080"),
        (("--workers", "4"), ""),
    ],
)
def test_where_it_listens_is_as_its_command_line_says(words, address):
    found = [each.address for each in surveyed("./api", *words).listeners]
    assert found == ([address] if address else [])


@each_row(
    ("words", "moved"),
    [
        (("--host", "10.0.0.5", "--port=80", "-p81"), ("--host", "X", "--port=9", "-p9")),
        (("--bind", "10.0.0.5:{port}"), ("--bind", "X:9")),
        (("tcp:{port}", "http://localhost:{port}/x"), ("tcp:9", "http://X:9/x")),
        (("--address", "::", "-b", "80"), ("--address", "::", "-b", "9")),
        (("--threads=4", "--port", "4"), ("--threads=4", "--port", "9")),
    ],
)
def test_outside_of_a_cell_its_own_address_gives_way(words, moved):
    class Elsewhere(OpenSeat):
        def port(self, address: str) -> str:
            return "127.0.0.9:9"

    member = Member(name="api", kind="command", command=("./api", *words), folder="/srv/api")
    adapter = Command()
    survey = adapter.survey(member, NOTHING, None)
    assert isinstance(survey, Survey)
    seat = Elsewhere(folder=Path("/seat"), ports={})
    launch = adapter.launch(member, survey, seat, Configuration(), ChangeSet())
    assert launch.command == ["./api", *(w.replace("X", "127.0.0.9") for w in moved)]
