"""Which boot of the machine this is: what was true of another one need not be true any more."""

from pathlib import Path


def boot_id() -> str:
    """Return what is different each time the machine was booted."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
