"""One template with its names filled in, by jinja2; `render` says what the names are.

All templates of studies go through here: whoever wrote one may be a stranger, so it is rendered in
a sandbox, by a process that has no rights and ends where it takes too much.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from httpdyno.errors import AdapterError
from httpdyno.model import Level, Peer
from httpdyno.servers.sandbox.evaluator import Evaluator, OverBoundError

Names = Mapping[str, str | Mapping[str, Level] | Mapping[str, Peer]]
"""What a template may use: texts, and names of one kind each."""

_TAG = re.compile(r"\{[{%#]|\r")
"""What jinja2 would write otherwise than it stands there."""
_renderer = Evaluator("templates")


def rendered_template(
    text: str, names: Names, *, source: str, there: str, by: Evaluator = _renderer
) -> str:
    """Return the rendered text.

    Args:
        text: The template.
        names: What it may use; of `knob` only what it asks for is read.
        source: What the text is called in messages: a file or a key of the study.
        there: Which names there are, for messages.
        by: What renders it.

    Raises:
        AdapterError: It is not a template, uses a name that is not there or may not be used, or
            takes more time, memory or room than any configuration does.
    """
    if not _TAG.search(text):
        return text
    try:
        said = by.ask({"text": text, "names": msgspec.to_builtins(names)})
    except OverBoundError as error:
        raise AdapterError(
            f"`{source}` cannot be rendered: it {error}",
            hint="Templates are for what differs between configurations; copy long files with "
            "`files`.",
        ) from error
    if "error" in said:
        raise _refused(said, source, there)
    knobs = names.get("knob", {})
    for name in said["used"]:
        knobs[name]
    return str(said["text"])


def _refused(said: Mapping[str, Any], source: str, there: str) -> AdapterError:
    words = said["words"]
    if said["error"] == "syntax":
        return AdapterError(f"`{source}` line {said['line']} is not a template: {words}")
    if said["error"] == "undefined":
        return AdapterError(
            f"`{source}` uses a name that is not there: {words}",
            hint=f"Templates may use {there}.",
        )
    if said["error"] == "forbidden":
        return AdapterError(
            f"`{source}` uses what no template may use: {words}",
            hint=f"Templates may use {there}, and methods of texts.",
        )
    return AdapterError(f"`{source}` cannot be rendered: {words}")
