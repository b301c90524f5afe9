"""An access log for the tests of `httpdyno load`."""

from pathlib import Path

import pytest

LOG = '127.0.0.1 - - [10/Oct/2000:13:55:{:02} -0700] "{} HTTP/1.1" {} 2326\n'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "access.log"
    lines = [(0, "GET /a", 200), (1, "GET /b", 404), (2, "POST /c", 200), (4, "GET /a", 304)]
    file.write_text("".join(LOG.format(*line) for line in lines) + "odd\n")
    return file
