"""Who has a lock on a file, as /proc/locks tells it. Pure.

Source: proc_locks(5).
"""

FileId = tuple[int, int, int]
"""Major and minor number of its device, and its inode."""


def holders(text: str) -> dict[FileId, int]:
    """Return a process that has a lock on it by file; those that are not told are left out."""
    found: dict[FileId, int] = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 6 or fields[1] == "->":  # noqa: PLR2004 - up to the file
            continue  # that one waits
        major, minor, inode = fields[5].split(":")
        pid = int(fields[4])
        if pid > 0:
            found.setdefault((int(major, 16), int(minor, 16), int(inode)), pid)
    return found
