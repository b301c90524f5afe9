"""The tables of study files as a JSON Schema, and as a page to read."""

import re
import tomllib

from tests.study.whole_examples import CODE, SERVER, SITE

from httpdyno.model import KnobInfo
from httpdyno.report.shared.reference import examples, sections
from httpdyno.study.file import study_from
from httpdyno.study.schema import study_schema, tables


def _properties():
    return [
        (f"{name}.{key}", found)
        for name, definition in study_schema()["$defs"].items()
        for key, found in definition["properties"].items()
    ]


def test_the_schema_has_every_section():
    schema = study_schema()
    assert set(schema["$defs"]["StudyFile"]["properties"]) >= {
        *("server", "site", "knobs", "candidates", "workload", "objective", "method", "budget")
    }
    assert set(tables()) == set(schema["$defs"])


def test_every_key_is_described_in_a_sentence():
    described = {key: found.get("description", "") for key, found in _properties()}
    assert described
    wrong = [key for key, words in described.items() if not re.fullmatch(r"[A-Z`2].*\.", words)]
    assert wrong == [], "write beneath the field what it means"


def test_every_section_has_an_example():
    assert {key for key, _, _ in sections()} == set(examples())


def test_the_examples_are_three_whole_studies(tmp_path):
    (tmp_path / "app").mkdir()
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "data").mkdir()
    for name in ("shop.ini.j2", "redis.conf.j2", "bodies.pl"):
        (tmp_path / name).write_text("", encoding="utf-8")
    infos = {
        "php:pm.max_children": KnobInfo(
            name="pm.max_children", summary="", kind="integer", default=5
        )
    }
    file = tmp_path / "study.toml"
    server = study_from(tomllib.loads(SERVER), file, lambda _: {})
    assert [each.name for each in server.candidates] == ["with threads"]
    assert server.workload.connections == 20
    site = study_from(tomllib.loads(SITE), file, lambda _: {}, lambda *_: infos)
    assert site.site is not None
    assert site.start_configuration().values == {"php:pm.max_children": 5}
    assert len(site.workload.requests) == len(server.workload.requests) == 2
    code = study_from(tomllib.loads(CODE), file, lambda _: {})
    assert code.fragments is not None
    assert code.server.command == ("perl", "bodies.pl")
