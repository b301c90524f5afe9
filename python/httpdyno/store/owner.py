"""Whether somebody is still at a run, so that a dead one's runs can be told and taken over."""

import socket

from httpdyno.host.process_identity import Life, ProcessIdentity


def may_be_at_it(owner: ProcessIdentity, *, is_shared: bool = False) -> bool:
    """Tell whether the process that a run belongs to still runs, or may.

    Args:
        owner: Who began the run, or took it over.
        is_shared: The database can be used from other hosts. What runs there cannot be
            seen from here, so it counts as alive.
    """
    if is_shared and owner.host != socket.gethostname():
        return True
    return owner.life() is not Life.GONE


def refusal(owner: ProcessIdentity, run_id: str) -> tuple[str, str]:
    """Return in words that nobody else may go on with a run that has an owner, and the way out."""
    who = f"process {owner.pid} on {owner.host}"
    if owner.life() is Life.IN_DOUBT:
        return (
            f"run {run_id} may still be measured by {who}, which cannot be seen from here",
            "Resume it where that process would be seen: on the host itself, not in a container.",
        )
    return f"run {run_id} is still being measured by {who}", "Wait until it ends, or stop it there."
