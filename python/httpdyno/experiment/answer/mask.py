"""Where a text holds what may differ, as patterns say: looked for in a process of its own.

Python's patterns may take time without end on a text that nearly fits. So they are tried where
they can be ended from outside, and only on texts that differ at all.
"""

import json
import subprocess
import sys
from collections.abc import Sequence

from httpdyno.errors import UsageError

LIMIT_S = 5.0
"""For all patterns on all texts of a look, many times what they take."""

Spans = list[tuple[int, int]]

# Positions are of bytes; what is no UTF-8 stays as it is.
_PROGRAM = """
import json, re, sys
patterns, texts = json.load(sys.stdin)
rules = [re.compile(each) for each in patterns]
found = []
for text in texts:
    spans = sorted(m.span() for rule in rules for m in rule.finditer(text) if m.end() > m.start())
    at, n, out = 0, 0, []
    for begin, end in spans:
        if begin < at:
            continue
        n += len(text[at:begin].encode("utf-8", "surrogateescape"))
        size = len(text[begin:end].encode("utf-8", "surrogateescape"))
        out.append((n, n + size))
        n, at = n + size, end
    found.append(out)
json.dump(found, sys.stdout)
"""


def masked_spans(patterns: Sequence[str], texts: Sequence[bytes]) -> list[Spans]:
    """Return the parts of each text that fit a pattern, ascending, as (begin, end) in bytes.

    Raises:
        UsageError: The patterns take too long on them.
    """
    if not patterns or not texts:
        return [[] for _ in texts]
    asked = json.dumps([list(patterns), [t.decode("utf-8", "surrogateescape") for t in texts]])
    try:
        done = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            input=asked,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(
            f"the patterns of `workload.may_differ` take more than {LIMIT_S:g} s on "
            f"{sum(map(len, texts)):,} bytes of answers",
            hint="repeat what cannot be split in several ways: `[0-9:]+`, not `(\\d+:?)+`",
        ) from error
    return [[(begin, end) for begin, end in spans] for spans in json.loads(done.stdout)]
