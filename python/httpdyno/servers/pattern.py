"""Patterns of studies, tried where they can be ended: one may take for ever on a text of its own.

`experiment.answer.mask` does the same with the patterns of what may differ, on whole answers.
"""

from httpdyno.errors import UsageError
from httpdyno.servers.evaluator.process import Evaluator, OverBoundError

_LIMIT_S = 1.0
"""Many times what a pattern takes on the first lines of a log."""
_matcher = Evaluator("patterns", limit_s=_LIMIT_S)


class PatternError(UsageError):
    """A pattern is none, or takes too long."""


def fits(pattern: str, text: str) -> bool:
    """Whether a pattern of Python's `re` fits somewhere in a text; `^` is the begin of a line.

    Raises:
        PatternError: It is none, or takes more time or memory than any that is of use.
    """
    try:
        said = _matcher.ask({"pattern": pattern, "text": text})
    except OverBoundError as error:
        raise PatternError(
            f"it {error} on {len(text):,} characters",
            hint="repeat what cannot be split in several ways: `[0-9:]+`, not `(\\d+:?)+`",
        ) from error
    if "error" in said:
        raise PatternError(str(said["words"]))
    return bool(said["found"])
