"""What has to be changed to get from one configuration to another, whole."""

from pathlib import Path

from httpdyno.model import Configuration, ServerSpec
from httpdyno.servers.adapter import Rendered
from httpdyno.servers.difference import difference
from httpdyno.servers.gunicorn.server import Gunicorn
from httpdyno.servers.stack.templates import TemplateStack

SPEC = ServerSpec(
    adapter="gunicorn",
    settings={"application": "app:application"},
    environment={
        "APP_DEBUG": "{{ knob.debug }}",
        "APP_SECRET": "hunter2",
        "APP_CACHE": "{{ run }}/cache-{{ knob.debug }}",
    },
    prepare=("{{ python }}", "seed.py", "--rows", "{{ knob.rows }}"),
)


def test_knobs_of_the_environment_and_of_commands_are_in_the_difference() -> None:
    stack, folder = TemplateStack(Gunicorn()), Path("/nonexistent")
    start = Configuration(values={"workers": 1, "debug": True, "rows": 10})
    final = Configuration(values={"workers": 4, "debug": False, "rows": 500})
    lines = difference(
        stack.render(SPEC, folder, start), stack.render(SPEC, folder, final)
    ).splitlines()
    changed = [line for line in lines if line[:1] in {"+", "-"} and line[:3] not in {"+++", "---"}]
    assert changed == [
        "-workers = 1",
        "+workers = 4",
        "-APP_CACHE=RUN/cache-true",
        "-APP_DEBUG=true",
        "+APP_CACHE=RUN/cache-false",
        "+APP_DEBUG=false",
        "-10",
        "+500",
    ]
    assert [line for line in lines if line.startswith("+++")] == [
        "+++ gunicorn.conf.py",
        "+++ environment",
        "+++ command before each start, an argument to a line",
    ]
    assert "hunter2" not in "\n".join(lines)


def test_a_file_without_a_last_newline_does_not_swallow_the_next_line() -> None:
    text = difference(
        Rendered(files={"a.conf": "x 1", "b.conf": "y 1\n"}),
        Rendered(files={"a.conf": "x 2", "b.conf": "y 2\n"}),
    )
    marked = "\\ No newline at end of file"
    assert text.splitlines()[2:8] == ["@@ -1 +1 @@", "-x 1", marked, "+x 2", marked, "--- b.conf"]


def test_what_is_the_same_makes_no_difference() -> None:
    same = Rendered(files={"a": "1\n"}, environment={"A": "1"}, prepare=("true",))
    assert difference(same, same) == ""
