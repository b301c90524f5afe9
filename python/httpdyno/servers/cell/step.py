"""What a holder does to make a cell, in order, as httpdyno writes it down and a holder reads it.

Standard library only, and little of it: the holder imports this each time that a cell is made.
"""

import os
from _collections_abc import Iterable

Step = tuple[str, ...]
"""A verb and what it is about.

- `keep PATH`: stays writable, under its own path.
- `hold NAME PATH`: what is there now is later named `@NAME`, whatever is mounted over it.
- `seek NAME PATH`: the same, but where it is gone by now, what is to be done with it is not.
- `freeze`: all else becomes read-only.
- `overlay TARGET UPPER WORK LOWER…`: layers over a folder; UPPER may be empty.
- `attempt TARGET UPPER WORK LOWER…`: the same if the kernel takes it, and else an empty folder.
- `bind SOURCE TARGET`, `mask TARGET`: another one, or an empty file, in place of a path.
- `unlink PATH`: as if it had not been there.
- `sysctl NAME VALUE`: of the cell's own network.
- `forbid`: the kernel's settings become read-only.
"""


def packed(steps: Iterable[Step]) -> bytes:
    """Return steps as bytes; no field may hold a NUL."""
    fields: list[str] = []
    for step in steps:
        fields += [str(len(step)), *step]
    return b"\0".join(os.fsencode(field) for field in fields)


def unpacked(content: bytes) -> list[Step]:
    """Return the steps of what `packed` gave."""
    fields = iter([os.fsdecode(field) for field in content.split(b"\0")] if content else [])
    steps = []
    for n in fields:
        steps.append(tuple(next(fields) for _ in range(int(n))))
    return steps
