"""What text and page both show: tables as names and cells, and drawings with their tables."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from httpdyno.report.shared.prose import Prose
from httpdyno.report.shared.svg import NARROW, WIDE

_GAP = 2
_LONGEST_FIGURE = 40
"""Characters; a column with more is of sentences, which may be broken, as one without a name."""
_LEAST_NAME = 12
"""Narrower than that, names of rows are chopped to letters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """A table: names of columns, then rows whose first cell is the row's name."""

    head: Sequence[str]
    rows: Sequence[str | Sequence[str]] = ()
    """A row that is a word names the group of those that follow."""
    text_columns: int = 1
    """So many of the first columns are words on a page; the others are figures."""
    note: str = ""
    group: str = ""
    """What a terminal calls the column of the groups' names."""
    name_width: int | None = None
    """Names of rows that are longer are folded on a terminal."""
    fold_at: int = 0
    """Before which column it is best broken, where it is too wide; 0 for none."""

    @property
    def cells(self) -> list[Sequence[str]]:
        """The rows, without the names of groups."""
        return [row for row in self.rows if not isinstance(row, str)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """A figure of a page: two drawings, a caption, and the same as a table."""

    title: str
    caption: str
    wide: str
    narrow: str
    table: Grid | None


def drawn(
    title: str, caption: str, draw: Callable[[int], str], table: Grid | None = None
) -> Drawn | None:
    """Return a figure; None where there is nothing to draw.

    Args:
        title: Of the figure.
        caption: What one sees.
        draw: Returns SVG for a width in pixels, empty for nothing.
        table: The same in figures.
    """
    wide = draw(WIDE)
    if not wide:
        return None
    return Drawn(title=title, caption=caption, wide=wide, narrow=draw(NARROW), table=table)


# Tables on a terminal.


def table_of(grid: Grid, *, indent: str = "", least: int = 0) -> Table:
    """Return a table for a terminal, figures to the right.

    Args:
        grid: What it shows.
        indent: Before each row's name.
        least: Characters that the names have room for.
    """
    table = plain_table(has_head=True)
    is_grouped = len(grid.cells) < len(grid.rows)
    if is_grouped:
        table.add_column(grid.group, max_width=grid.name_width)
    least = max(least, _least_name(grid, indent))
    table.add_column(grid.head[0], min_width=least, max_width=grid.name_width, overflow="fold")
    for width, name in zip(_widths(grid)[1:], grid.head[1:], strict=True):
        if width > _LONGEST_FIGURE or not name:
            table.add_column(name, overflow="fold")
        else:
            table.add_column(name, justify="right", min_width=width, no_wrap=True)
    group = ""
    for row in grid.rows:
        if isinstance(row, str):
            group = row
            continue
        # What a server said is no markup.
        cells = (f"{indent}{row[0]}", *row[1:])
        table.add_row(*map(Text, (group, *cells) if is_grouped else cells))
        group = ""
    return table


class Folded:
    """A table of which what is too wide goes below, each time beside the rows' names."""

    def __init__(self, grid: Grid, *, indent: str = "") -> None:
        """Prepare what `table_of` takes."""
        self._grid = grid
        self._indent = indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield as few tables as there is room for."""
        del console
        for part in self._parts(options.max_width):
            yield table_of(part, indent=self._indent)

    def _parts(self, width: int) -> Iterator[Grid]:
        grid = self._grid
        widths = [each + _GAP for each in _widths(grid)[1:]]
        left = width - _least_name(grid, self._indent)
        is_whole = sum(widths) <= left
        begin = 0
        while begin < len(widths):
            end = begin + 1
            while end < len(widths) and sum(widths[begin : end + 1]) <= left:
                if end + 1 == grid.fold_at and begin == 0 and not is_whole:
                    break
                end += 1
            places = slice(begin + 1, end + 1)
            yield replace(
                grid,
                head=(grid.head[0], *grid.head[places]),
                rows=[(row[0], *row[places]) for row in grid.cells],
            )
            begin = end


def _least_name(grid: Grid, indent: str) -> int:
    longest = max((cell_len(f"{indent}{row[0]}") for row in grid.cells), default=0)
    return longest if grid.name_width is None else min(longest, _LEAST_NAME)


def _widths(grid: Grid) -> list[int]:
    return [max(map(cell_len, cells)) for cells in zip(grid.head, *grid.cells, strict=True)]


def plain_table(*, gap: int = _GAP, has_head: bool = False) -> Table:
    """Return a table without lines, to which columns and rows are added."""
    padding = (0, gap, 0, 0)
    return Table(
        box=None, padding=padding, pad_edge=False, show_header=has_head, header_style="dim"
    )


def labelled(
    rows: Iterable[tuple[str | Text, str | Text]], *, width: int | None = None, gap: int = _GAP
) -> Table:
    """Return rows of a label and a sentence.

    Args:
        rows: Labels and sentences, plain or styled.
        width: Of the labels, at least.
        gap: Between both.
    """
    table = plain_table(gap=gap)
    table.add_column(min_width=width, no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(as_text(label), Prose(as_text(value)))
    return table


def as_text(value: str | Text) -> Text:
    """Return plain words as text, which is no markup."""
    return value if isinstance(value, Text) else Text(value)
