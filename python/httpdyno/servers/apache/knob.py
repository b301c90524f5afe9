"""Apache's directives that can be tuned. Source of all: httpd 2.4 and mod_fcgid documentation."""

from typing import Literal

from msgspec.structs import replace

from httpdyno.model import KnobInfo
from httpdyno.model.rows import rows

_DOCS = "httpd.apache.org/docs/2.4/"


class ApacheKnob(KnobInfo, frozen=True):
    """A row of `settings.toml`: a directive, of what server it is a knob, and where."""

    of: Literal["both", "study", "own"] = "both"
    """Of the server that a study makes, of a person's own, or of both."""
    module: str = ""
    """Without it a person's own has no such knob."""
    is_threaded: bool | None = None
    """Only under threaded modules, only under prefork, or under all."""
    threaded_default: int | None = None
    """What is compiled in for threaded modules, where that differs."""
    is_scoped: bool = False
    """Whether virtual hosts or folders may have values of their own."""

    @property
    def info(self) -> KnobInfo:
        """Return what is a knob of it."""
        return self.bare()


def _at_docs(row: ApacheKnob) -> ApacheKnob:
    # mod_fcgid has a manual of its own, elsewhere.
    return row if row.source.startswith("httpd.") else replace(row, source=_DOCS + row.source)


ROWS = {
    name: _at_docs(row)
    for name, row in rows("httpdyno.servers.apache", "settings.toml", ApacheKnob).items()
}

MPM = KnobInfo(
    name="mpm",
    summary="the multi-processing module: processes (prefork), or threads in processes",
    kind="choice",
    default="prefork",
    choices=("prefork", "worker", "event"),
    source="httpd.apache.org/docs/2.4/mpm.html",
)
"""No directive: which module is loaded. Where it is no knob, it is a setting of the study."""

KNOBS = {name: row.info for name, row in ROWS.items() if row.of != "own"}
"""Of the server that a study makes."""
