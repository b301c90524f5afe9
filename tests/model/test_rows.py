"""Data files of the program: a table for each thing, and which one is wrong."""

import sys

import pytest

from httpdyno.model import KnobInfo
from httpdyno.model.rows import rows


@pytest.fixture
def declare(tmp_path, monkeypatch):
    """Return what writes a data file of a package of its own, and reads it."""
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "some_rows"
    package.mkdir()
    (package / "__init__.py").touch()

    def read(text):
        (package / "settings.toml").write_text(text)
        return rows("some_rows", "settings.toml", KnobInfo)

    yield read
    del sys.modules["some_rows"]


def test_a_table_has_its_name_and_all_keep_their_order(declare):
    found = declare(
        '"pm.b" = { kind = "text", summary = "…" }\na = { kind = "boolean", summary = "x" }\n'
    )
    assert list(found.items()) == [
        ("pm.b", KnobInfo(name="pm.b", kind="text", summary="…")),
        ("a", KnobInfo(name="a", kind="boolean", summary="x")),
    ]


@pytest.mark.parametrize(
    ("row", "wrong"),
    [
        ('kind = "numer", summary = ""', "numer.*kind"),
        ('kind = "number"', "summary"),
        ('kind = "number", summary = "", sumary = ""', "sumary"),
    ],
)
def test_a_table_that_is_wrong_is_named(declare, row, wrong):
    with pytest.raises(ValueError, match=rf"`workers` in settings\.toml: .*{wrong}"):
        declare(f'a = {{ kind = "text", summary = "" }}\nworkers = {{ {row} }}\n')
