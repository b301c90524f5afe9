"""A program that runs in a seat to its end, and what it said."""

from collections.abc import Callable, Sequence
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.servers.log_file import log_text
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.seat import Said

_BYTES = 16 << 20
"""Of what it prints, as much is read."""
NOT_RUN = 127
"""What is said where the program cannot be run."""


def said_by(
    command: Sequence[str],
    spawn: Callable[[Path, Path], ServerProcess],
    folder: Path,
    *,
    timeout_s: float,
) -> Said:
    """Run a program to its end, all that came from it too.

    Args:
        command: What runs, for messages.
        spawn: Starts it; is told where its errors and its output go.
        folder: Where these are kept meanwhile.
        timeout_s: It has this long.

    Raises:
        AdapterError: It cannot be run, or does not end in time.
    """
    errors, output = folder / "run.err", folder / "run.out"
    process = spawn(errors, output)
    try:
        has_ended = process.wait(timeout_s)
        exit_code = process.exit_code
    finally:
        process.stop()
    said = Said(
        exit_code=NOT_RUN if exit_code is None else exit_code,
        output=log_text(output, n_bytes=_BYTES),
        errors=log_text(errors, n_bytes=_BYTES),
    )
    for file in (errors, output):
        file.unlink(missing_ok=True)
    if not has_ended:
        raise AdapterError(
            f"`{' '.join(command)}` did not end within {timeout_s:g} s",
            hint="`adopt --start-timeout 1m` gives it longer, in a study `ready_timeout`",
        )
    if said.exit_code == NOT_RUN and said.errors.startswith("cannot run "):
        raise AdapterError(said.errors.strip())
    return said
