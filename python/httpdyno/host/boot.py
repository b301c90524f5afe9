"""Which boot of the machine this is: what was true of another one need not be true any more."""

from contextlib import suppress
from pathlib import Path


def boot_id() -> str:
    """Return what is different each time the machine was booted; empty where it is not shown.

    A chroot without `/proc` does not show it.
    """
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""
