"""What the parts of a start draw by; pure."""

import hashlib


def start_seed(seed: int, comparison: int, start: int, *part: int) -> int:
    """Return the engine's seed for one part of a start.

    0 is the warm-up, 1 the windows, 2 the order of starts, 3 what is seen between the former of how
    users come in, 4 how long the warm-up is, 5 what servers are looked at under, 6 what their
    system calls are counted under, 7 a warm-up by count.

    Where arms have loads of their own, the number of the window comes after that.

    Were it the same for each start, all would send the same mix at the same gaps, and what that
    happens to favour would count as proven. The arms of a start do share it.
    """
    parts = " ".join(map(str, part or (1,)))
    text = f"{seed} {comparison} {start} {parts}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest())
