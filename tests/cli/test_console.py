"""What a file or a pipe gets of results."""

import pytest
from rich.table import Table

from httpdyno.cli.console import messages, results


def test_a_file_gets_no_spaces_at_the_ends_of_lines(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(box=None, show_header=False)
    table.add_row("a", "b")
    table.add_row("a long one", "and another")
    results().print(table)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["a", "b"], ["a", "long", "one", "and", "another"]]
    assert not any(line.endswith(" ") for line in lines)


def test_brackets_in_what_a_server_says_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    """A word of a header, or a level, may be anything; a tag that closes nothing is an error."""
    table = Table("[/head]", box=None, padding=0)
    table.add_row("[/HIT] 200 (100 %)")
    results().print(table)
    messages().print("[bold]MISS")
    said = capsys.readouterr()
    assert [line.strip() for line in said.out.splitlines()] == ["[/head]", "[/HIT] 200 (100 %)"]
    assert said.err == "[bold]MISS\n"
