"""The disk below the servers of starts that were up together."""

from collections.abc import Sequence

from httpdyno.errors import AdapterError
from httpdyno.experiment.start_arm import Arm
from httpdyno.servers.run.folder import RunRoot
from httpdyno.servers.run.root import ROOT_VARIABLE, full_disk

_NOT_FOR_WANT_OF_ROOM = ("complete", "infeasible")


def require_room(arms: Sequence[Arm], root: RunRoot) -> None:
    """Give up where a server failed and had no room: that is no fault of its configuration.

    To be asked before the servers end: their folders, which made the disk full, go with them.

    Raises:
        AdapterError: It is so.
    """
    if all(arm.status in _NOT_FOR_WANT_OF_ROOM for arm in arms):
        return
    if words := full_disk(root.folder, root.memory_folder):
        raise AdapterError(
            f"a server could not come up, and {words}",
            hint=f"free some space, or set `{ROOT_VARIABLE}` to a folder on another disk",
        )
