"""Templates of strangers: what they may use, and what becomes of those that never end or grow."""

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from httpdyno.errors import AdapterError
from httpdyno.model import Level, Peer
from httpdyno.servers.sandbox.evaluator import Evaluator
from httpdyno.servers.template import Names, rendered_template

LEVELS: dict[str, Level] = {"mood": "good", "n": 3, "on": True}
NAMES: Names = {
    "knob": LEVELS,
    "setting": {},
    "peer": {"db": Peer(address="127.0.0.1:5432", run="/r", memory="/m")},
    "run": "/run/here",
}


@pytest.fixture(scope="module")
def renderer() -> Iterator[Evaluator]:
    """One with little time, for what would take all of it."""
    evaluator = Evaluator("templates", limit_s=0.3, memory_bytes=128 << 20, most_bytes=1 << 20)
    yield evaluator
    evaluator.close()


def rendered(text: str, renderer: Evaluator) -> str:
    return rendered_template(text, NAMES, source="a key", there="`knob.…`", by=renderer)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ knob.mood.startswith('g') }}", "true"),
        ("{{ 'n' in knob }} {{ 'm' in knob }}", "true false"),
        ("{% for n in range(knob.n) %}{{ loop.index }}{% endfor %}", "123"),
        ("{{ [1, knob.n] | max }} {{ knob['mood'] }}", "3 good"),
        ("{% set a, b = knob.mood.partition('o')[::2] %}{{ a ~ b }}", "god"),
        ("{{ peer.db.port }} {{ peer.db.run }}", "5432 /r"),
        ("{{ knob.on | python }} {{ knob.on }}\n", "True true\n"),
        ("{{ '%.1f' | format(2.25) }}", "2.2"),
        ("{{ 'a b' | wordwrap(1) | pprint }}", r"'a\nb'"),
        ("{{ '<a>b' | striptags | urlencode | tojson }}", '"b"'),
        ("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(1) }}", "<1>"),
    ],
)
def test_what_configurations_need_is_there(text: str, expected: str, renderer: Evaluator) -> None:
    assert rendered(text, renderer) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ '' | attr('__class__') }}",
        "{{ [''] | map(attribute='__class__.__mro__') | list | first }}{{ ''['__class__'] }}",
        "{{ '{0.__class__.__mro__}'.format('') }}",
        "{{ '{a.__class__}'.format_map({'a': ''}) }}",
        "{{ self.__init__ }}",
        "{{ self._TemplateReference__context }}",
        "{{ range.__self__ }}",
        "{{ knob.__class__ }}",
        "{{ knob._values }}",
        "{{ peer.db.__class__ }}",
        "{% for a in 'a' %}{{ loop.__init__.__globals__ }}{% endfor %}",
        "{% macro m() %}{% endmacro %}{{ m.__globals__ }}",
        "{% macro m() %}{% endmacro %}{{ m._func }}",
        "{{ lipsum() }}",
        "{{ namespace() }}",
        "{{ joiner() }}",
        "{% set a = [] %}{{ a.append(1) }}",
        "{% import 'os' as os %}",
        "{% include '/etc/passwd' %}",
    ],
)
def test_nothing_of_pythons_own_can_be_had(text: str, renderer: Evaluator) -> None:
    with pytest.raises(AdapterError, match=r"`a key` (uses|cannot be rendered: no loader)"):
        rendered(text, renderer)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "time"),
        (
            "{% for a in range(99999) %}{% for b in range(999) if false %}{% endfor %}{% endfor %}",
            0,
        ),
        ("{{ (9 ** 9) ** (9 ** 9) }}", "time"),
        ("{% for a in range(99999) %}{{ 'a' * 99 }}{% endfor %}", "writes more than 1.00 MiB"),
        ("{{ 'a' * 10 ** 10 }}", "memory"),
        ("{{ 'a' | center(10 ** 10) }}", "memory"),
        ("{{ '%10000000000s' | format(1) }}", "memory"),
        ("{{ '{:10000000000}'.format(1) }}", "memory"),
        ("{{ 'a'.ljust(10 ** 10) }}", "memory"),
        ("{{ 'a' | indent(10 ** 10, true) }}", "memory"),
        ("{{ ('a' * 999) | replace('a', 'a' * 999) | replace('a', 'a' * 999) }}", "memory"),
        ("{% set x = 'a' * 99999 %}" + "{% set x = x ~ x %}" * 40, "memory"),
        ("{{ [1] | batch(10 ** 9, 1) | list }}", "memory"),
        ("{{ range(10 ** 9) }}", "Range too big"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "too deep"),
        ("{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}", "too deep"),
        ("{{ " + "(" * 9999 + "1" + ")" * 9999 + " }}", "too deep"),
        ("{{ " + "-" * 9999 + "1 }}", "too deep"),
    ],
)
def test_what_never_ends_or_grows_meets_a_bound(text: str, bound: str, renderer: Evaluator) -> None:
    with pytest.raises(AdapterError, match=r"^`a key` cannot be rendered: ") as raised:
        rendered(text, renderer)
    words = str(raised.value)
    assert any(each in words for each in ("of memory", "of processor time", bound or "time"))
    # The next one is rendered again.
    assert rendered("{{ knob.n }}", renderer) == "3"


def test_it_is_rendered_without_rights_files_or_processes(renderer: Evaluator) -> None:
    rendered("{{ knob.n }}", renderer)
    [process] = [each for each in psutil.Process().children() if "0.3" in each.cmdline()]
    if os.geteuid() == 0:
        assert {*process.uids(), *process.gids()} == {65534}
    assert process.environ().keys() <= {"LD_LIBRARY_PATH"}
    lines = Path(f"/proc/{process.pid}/limits").read_text(encoding="ascii").splitlines()
    limits = {line[:25].strip(): line[25:].split()[:2] for line in lines}
    assert limits["Max open files"] == ["3", "3"]
    assert limits["Max processes"] == limits["Max file size"] == ["0", "0"]
