"""Looks that were taken of real runs, as lines of JSON: the verdict is tested on them."""

from pathlib import Path

import msgspec

from httpdyno.model.base import Record
from httpdyno.model.look import Limit, Look

KEPT = Path(__file__).parents[2] / "tests/advice/looks.jsonl"


class Kept(Record, frozen=True, omit_defaults=True):
    """A server whose limit is known, and what was seen of it."""

    name: str
    accepted: tuple[Limit, ...]
    """The words that are right."""
    is_healthy: bool = False
    look: Look | None = None
    """None where it could not be built."""
    why_not: str = ""


def kept_looks(path: Path = KEPT) -> tuple[Kept, ...]:
    """Return all that are kept; none where there is no file."""
    if not path.exists():
        return ()
    lines = path.read_bytes().splitlines()
    return tuple(msgspec.json.decode(line, type=Kept) for line in lines)


def line_of(kept: Kept) -> str:
    """Return it as one line; figures have five digits, which is more than they are worth."""
    return msgspec.json.encode(rounded(msgspec.to_builtins(kept))).decode()


def rounded(value: object) -> object:
    """Return the same with short figures."""
    match value:
        case float():
            return float(f"{value:.5g}")
        case dict():
            return {key: rounded(each) for key, each in value.items()}
        case list() | tuple():
            return [rounded(each) for each in value]
    return value
