import sys
from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from tests.rows import each_row

from httpdyno.errors import AdapterError
from httpdyno.model import Configuration, ServerSpec, Template
from httpdyno.servers.render import (
    Variables,
    diff_name,
    inside,
    render_argument,
    render_file,
    render_text,
    rendered_templates,
)

VARIABLES = Variables(
    knobs={"debug": True, "values": 3, "name": "a<b>"},
    settings={"application": "x:y"},
    run="/run/here",
    memory="/shm/here",
    port="8123",
    server_user="www-data",
)


def rendered(text):
    return render_text(text, VARIABLES, source="a.j2")


def test_all_names_of_the_contract_are_there():
    text = "{{ run }} {{ memory }} {{ address }} {{ port }} {{ python }} {{ server_user }}"
    expected = f"/run/here /shm/here 127.0.0.1:8123 8123 {sys.executable} www-data"
    assert rendered(text) == expected
    assert rendered("{{ setting.application }}") == "x:y"


@each_row(
    ("text", "expected"),
    [
        ("--port={port}", "--port=8123"),
        ("{address}/{knob.values}", "127.0.0.1:8123/3"),
        ("{run}/db {memory}/db", "/run/here/db /shm/here/db"),
        ("{setting.application} {knob.debug}", "x:y true"),
        ("{{ port }}-{{ knob.values + 1 }}", "8123-4"),
        # What is no placeholder stays: JSON, a shell's variables, format strings.
        ('{"port": 1} ${port} ${knob.debug} {} {0} {ports}', None),
        # What a level holds is not looked at again.
        ("{knob.name}", "a<b>"),
    ],
)
def test_an_argument_takes_placeholders_in_single_braces(text, expected):
    found = render_argument(text, VARIABLES, source="command")
    assert found == (text if expected is None else expected)


def test_what_a_level_holds_is_no_placeholder():
    variables = replace(VARIABLES, knobs={"text": "{port} {{ port }}"})
    assert render_argument("{knob.text}", variables, source="x") == "{port} {{ port }}"


def test_an_argument_with_an_unknown_knob_says_which_there_are():
    with pytest.raises(AdapterError, match=r"`command` uses `\{knob.nope\}`") as caught:
        render_argument("{knob.nope}", VARIABLES, source="command")
    assert caught.value.hint == "There are: debug, name, values."


def test_nothing_is_escaped_and_the_last_line_end_stays():
    assert rendered("{{ knob.name }}\n") == "a<b>\n"


def test_a_boolean_is_printed_as_people_write_it_and_decides_as_one():
    assert rendered("{{ knob.debug }} {{ 'yes' if knob.debug }}") == "true yes"


def test_the_filter_python_prints_source():
    assert rendered("{{ knob.debug | python }} {{ knob.name | python }}") == "True 'a<b>'"


def test_a_knob_may_be_called_like_a_method_of_a_mapping():
    assert rendered("{{ knob.values }}") == "3"


@each_row(
    ("text", "names"),
    [
        ("{{ knob.nope }}", ["a.j2", "knob.nope", "debug"]),
        ("{{ setting.nope }}", ["a.j2", "setting.nope", "application"]),
        ("{{ nope }}", ["a.j2", "nope"]),
        ("{% if nope %}{% endif %}", ["a.j2", "nope"]),
    ],
)
def test_an_unknown_name_is_an_error_that_says_file_and_name(text, names):
    with pytest.raises(AdapterError) as raised:
        rendered(text)
    assert all(name in str(raised.value) for name in names)


def test_a_template_that_is_none_is_an_error_with_its_line():
    with pytest.raises(AdapterError, match=r"`a\.j2` line 2 is not a template"):
        rendered("fine\n{{ oops")


def test_a_template_that_fails_while_rendering_is_an_error():
    with pytest.raises(AdapterError, match=r"`a\.j2` cannot be rendered"):
        rendered("{{ 1 / 0 }}")


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(AdapterError, match=r"`gone\.j2` of the study cannot be read"):
        render_file(tmp_path / "gone.j2", VARIABLES, name="gone.j2")


@each_row(
    ("to", "expected"),
    [
        ("app/x.toml", "/run/here/app/x.toml"),
        ("{{ run }}/x", "/run/here/x"),
        ("{{ memory }}/x", "/shm/here/x"),
        (".", "/run/here"),
    ],
)
def test_paths_inside_the_place_are_accepted(to, expected):
    assert inside(to, VARIABLES) == PurePosixPath(expected)


@each_row("to", ["../x", "app/../../x", "/etc/passwd", "{{ run }}/../x", "/run/h"])
def test_paths_that_lead_out_of_the_place_are_refused(to):
    with pytest.raises(AdapterError, match="leads out of the run folder"):
        inside(to, VARIABLES)


def test_templates_that_render_to_white_space_are_not_written(tmp_path):
    (tmp_path / "on.j2").write_text("{% if knob.debug %}on{% endif %}\n")
    (tmp_path / "off.j2").write_text("{% if not knob.debug %}on{% endif %}\n\n")
    spec = ServerSpec(
        adapter="x",
        templates=(Template(source="on.j2", to="on"), Template(source="off.j2", to="off")),
    )
    assert rendered_templates(spec, tmp_path, VARIABLES) == {PurePosixPath("/run/here/on"): "on\n"}


def test_placeholders_stand_for_what_differs_from_start_to_start():
    spec = ServerSpec(adapter="x", settings={"a": "b"})
    variables = Variables.placeholders(spec, Configuration(values={"k": 1}), server_user="me")
    text = render_text("{{ run }} {{ memory }} {{ address }} {{ knob.k }}", variables, source="a")
    assert text == "RUN MEMORY 127.0.0.1:PORT 1"
    assert diff_name(inside("conf/a", variables), variables) == "conf/a"
    assert diff_name(inside("{{ memory }}/a", variables), variables) == "MEMORY/a"
    assert diff_name(inside("{{ run }}/a", variables), variables) == "a"
