import pytest

from httpdyno.cli import adopt
from httpdyno.cli.app import run

WHY = "no private copy can be kept apart here: a wall needs Landlock"


@pytest.fixture
def main(tmp_path):
    file = tmp_path / "nginx.conf"
    file.write_text("events {}\nhttp { server { listen 8080; } }\n")
    return str(file)


def test_what_allows_nothing_is_refused_before_anything_runs(main, capsys, monkeypatch):
    monkeypatch.setattr(adopt, "seat_maker", lambda _: pytest.fail("a copy is made"))
    assert run(["adopt", main, "--allow", "stale, lost"]) == 2
    said = capsys.readouterr().err
    assert "`--allow lost` allows nothing" in said
    assert "stale, loss, inline" in said


def test_where_no_copy_can_be_kept_apart_the_ways_out_are_told(main, capsys, monkeypatch):
    monkeypatch.setattr(adopt, "enter_for", lambda _: None)
    monkeypatch.setattr(adopt, "seat_maker", lambda _: WHY)
    assert run(["adopt", main]) == 3
    said = capsys.readouterr().err
    assert WHY in said
    assert "--isolation open" in said
    assert "httpdyno doctor" in said
