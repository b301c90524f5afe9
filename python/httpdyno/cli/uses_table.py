"""What a run of a study would start or touch, for the terminal."""

import os
import pwd
from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from httpdyno.host.foreign_text import visible
from httpdyno.study.uses import Use


def runs_as() -> tuple[tuple[str, str], str]:
    """Return the heading: as whom all of it would run."""
    user = os.geteuid()
    try:
        name = pwd.getpwuid(user).pw_name
    except KeyError:
        name = f"user {user}"
    return (f"runs as {name}", "bold"), ", all that a run would start or touch"


def uses_table(uses: Sequence[Use]) -> Table:
    """Return them a line each, with whose they are where there are several servers."""
    table = Table(box=None, padding=(0, 2, 0, 2), pad_edge=False, show_header=False)
    has_several = len({each.of for each in uses if each.of}) > 1
    if has_several:
        table.add_column(style="cyan")
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for each in uses:
        # A line break of the study's is not to begin what looks like another line.
        text = Text(visible(each.text.replace("\n", "\\n").replace("\t", "\\t")))
        table.add_row(*([each.of] if has_several else []), each.what, text)
    return table
