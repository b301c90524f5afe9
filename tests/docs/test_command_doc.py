"""Every study of the page on programs of one's own is one."""

import re
import tomllib
from pathlib import Path

import pytest
from tests.conformance.adapter import complaint_of

from httpdyno.registry import load_adapter
from httpdyno.study.file import study_from

PAGE = (Path(__file__).parents[2] / "docs" / "command.md").read_text(encoding="utf-8")
STUDIES = re.findall(r"^```toml\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
WHOLE = {
    "format": 2,
    "name": "x",
    "title": "X",
    "server": {"adapter": "command", "folder": "api", "command": ["./api", "{port}"]},
    "knobs": [{"name": "workers", "start": 1, "levels": [2]}],
}


@pytest.mark.parametrize("text", STUDIES)
def test_a_study_of_the_page_is_read_as_it_stands(text, tmp_path):
    raw = {**WHOLE, **tomllib.loads(text.replace("/srv", str(tmp_path)))}
    for name in ("api", "shop"):
        (tmp_path / name).mkdir()
    (tmp_path / "nginx.conf.j2").write_text("")
    study = study_from(raw, tmp_path / "study.toml", lambda name: load_adapter(name).knobs())
    adapter = load_adapter(study.server.adapter)
    assert set(study.server.settings) <= set(adapter.settings())
    if study.server.command:
        program = tmp_path / "api" / study.server.command[0]
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    if study.server.adapter == "command":
        start = study.start_configuration()
        assert complaint_of(adapter, study.server, tmp_path, start) == ""


def test_the_page_has_an_example_of_each_kind():
    studies = [tomllib.loads(text) for text in STUDIES]
    kinds = {each["server"]["adapter"] for each in studies if "server" in each}
    assert kinds == {"command", "gunicorn", "uvicorn"}
