"""What a file or a pipe gets of results."""

import pytest
from rich.table import Table

from httpdyno.cli.console import results


def test_a_file_gets_no_spaces_at_the_ends_of_lines(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(box=None, show_header=False)
    table.add_row("a", "b")
    table.add_row("a long one", "and another")
    results().print(table)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [["a", "b"], ["a", "long", "one", "and", "another"]]
    assert not any(line.endswith(" ") for line in lines)
