"""Commands beside a server, or beside a site's members."""

from typing import Annotated, Literal

from httpdyno.model.base import Record
from httpdyno.model.written import DERIVED, Duration


class SideCommand(Record, frozen=True):
    """`[[server.prepare]]`, `[[server.finish]]`: a command beside the server."""

    run: tuple[str, ...]
    """Program and arguments, run in the run folder; placeholders as in `command`."""
    timeout_s: Duration = 20.0
    """As long it may take; then the start has failed."""
    each: Literal["start", "run"] = "start"
    """`run`: once for all starts of a run, in a folder that all of them know as `{shared}`; it uses
    no other placeholder but `{python}` and settings."""
    when: Annotated[Literal["before", "up"], DERIVED] = "before"
    """Of a site, as the next three: see `SiteCommand`."""
    member: Annotated[str, DERIVED] = ""
    folder: Annotated[str, DERIVED] = ""
    user: Annotated[str, DERIVED] = ""


class SiteCommand(SideCommand, frozen=True):
    """`[[site.prepare]]`, `[[site.finish]]`: a command that runs in the copy as a member does."""

    run: tuple[str, ...]
    """Program and arguments, an argument each; it sees and writes what the copy does. `{run}` is a
    folder of this copy's own, `{shared}` that of the run; `{knob.NAME}` as in `[server]`."""
    each: Literal["start", "run"] = "start"
    """`run`: once for all starts of a run, in a copy of its own, of which only `{shared}`, a
    folder, stays; all others can read it. It uses no other placeholder but `{python}`."""
    when: Literal["before", "up"] = "before"
    """`before` any member is started, or once all are `up`, for what asks them. Not of `finish`."""
    member: str = ""
    """Whose environment, user and folder it has; empty is the member behind all others."""
    folder: str = ""
    """Where it runs, where that is not the member's folder; a whole path."""
    user: str = ""
    """Whom it runs as, where that is not the member's user, such as `www-data`."""
