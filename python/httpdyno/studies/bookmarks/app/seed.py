"""Fill a new database and a session folder, the same way every time.

Usage: seed.py DATABASE SESSION_FOLDER JOURNAL_MODE
"""

import json
import sqlite3
import sys
from pathlib import Path

N_OWNERS = 16
N_BOOKMARKS_EACH = 120
WORDS = ("apache", "bench", "cache", "daemon", "engine", "fork", "gateway", "handler", "index")
TAGS = ("reading", "tools", "work", "later")
FIRST_ADDED_AT = 1_000_000_000.0


def main(database: Path, sessions: Path, journal_mode: str) -> None:
    """Make the database with its rows, and a session file for each owner."""
    with sqlite3.connect(database) as connection:
        connection.executescript((Path(__file__).parent / "schema.sql").read_text("utf-8"))
        connection.executemany(
            "INSERT INTO bookmarks (owner, url, title, tag, added_at) VALUES (?, ?, ?, ?, ?)",
            [row(owner, number) for owner in owners() for number in range(N_BOOKMARKS_EACH)],
        )
    connection.execute(f"PRAGMA journal_mode = {journal_mode}")
    connection.close()
    sessions.mkdir(parents=True, exist_ok=True)
    for owner in owners():
        (sessions / f"{owner}.json").write_text(json.dumps({"visits": 0}), "utf-8")


def owners() -> list[str]:
    """Return the names of the seeded sessions, which own the bookmarks."""
    return [f"{number:032x}" for number in range(1, N_OWNERS + 1)]


def row(owner: str, number: int) -> tuple[str, str, str, str, float]:
    """Return one bookmark: the same for the same arguments."""
    word, other = WORDS[number % len(WORDS)], WORDS[number // len(WORDS) % len(WORDS)]
    return (
        owner,
        f"https://{word}.example/{other}/{number}",
        f"On the {word} and the {other}, part {number}",
        TAGS[number % len(TAGS)],
        FIRST_ADDED_AT + number,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
