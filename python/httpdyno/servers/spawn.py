"""Starting a server in its place: what is the same whichever server it is.

An adapter says in a `Launch` what its server reads and how it is run; port, files, environment,
owners, process and the end of all that where it does not come to be are `spawned`'s.
"""

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from httpdyno.servers.adapter import NotRunning, Place, Running
from httpdyno.servers.instance import Asked, Insight, Instance, Listening
from httpdyno.servers.knob_use import knobs_of_limits
from httpdyno.servers.network.address import HeldPort
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.render import Variables, rendered_limits
from httpdyno.servers.run.folder import remove_place
from httpdyno.servers.staging import act, environment, finish, hand_over, stage, writable_folders


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """How an adapter's server is started in a place."""

    command: Sequence[str]
    """Program and arguments, for the foreground."""
    log: Path
    """Where its errors go, and its output where that is not apart."""
    insight: Callable[[ServerProcess], Insight]
    error_logs: Sequence[Path] = ()
    """Other files that it logs errors to."""
    output_to: Path | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """The adapter's own: name relative to the run folder → text."""
    folders: Sequence[str] = ()
    """Empty folders of the run folder that the server needs."""
    user: str = ""
    """The user that it answers as, where it is not started by that user; empty: as started."""
    folder: str = ""
    """Where it runs, in place; empty is the run folder."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of the adapter's own; what the study sets wins."""
    addresses: Sequence[str] = ()
    """Where it listens, the one that is loaded first; empty: at the held port alone."""


def spawned(
    asked: Asked,
    study_folder: Path,
    place: Place,
    *,
    server_user: str,
    launch: Callable[[Variables], Launch],
) -> Running | NotRunning:
    """Write the files and start the server in the foreground; does not wait for readiness.

    Args:
        asked: The target and the configuration that it is to have.
        study_folder: What relative sources of the study are relative to.
        place: Where it lives; removed where it is not started.
        server_user: The user that answers requests, for templates.
        launch: Says how it is started, once it is known where it may listen.

    Raises:
        AdapterError: It cannot be started for reasons that are not its configuration's.
    """
    port = HeldPort(network=place.network)
    try:
        running = _spawned(asked, study_folder, place, port, (server_user, launch))
    except BaseException:
        port.release()
        raise
    if isinstance(running, NotRunning):
        port.release()
        remove_place(place)
    return running


def _spawned(
    asked: Asked,
    study_folder: Path,
    place: Place,
    port: HeldPort,
    adapters: tuple[str, Callable[[Variables], Launch]],
) -> Running | NotRunning:
    server_user, launch = adapters
    spec = asked.spec
    variables = Variables(
        knobs=asked.configuration.values,
        settings=spec.settings,
        run=str(place.folder),
        memory=str(place.memory_folder),
        port=str(port.number),
        server_user=server_user,
        shared=str(place.shared or ""),
        peers=spec.peers,
    )
    how = launch(variables)
    limits = rendered_limits(spec, variables)
    for folder in how.folders:
        (place.folder / folder).mkdir()
    refusal = stage(spec, study_folder, place, variables, extra=how.files)
    if refusal:
        return refusal
    own_environment = environment(spec, variables, place, how.environment)
    if how.user:
        hand_over(place, how.user, writable_folders(spec, variables))
    process = ServerProcess.spawn(
        how.command,
        place=place,
        environment=own_environment,
        log=how.log,
        output_to=how.output_to,
        folder=how.folder,
        stop_signal=signal.Signals[f"SIG{spec.stop}"],
        limits=limits,
    )
    return Instance(
        process=process,
        listening=Listening(addresses=tuple(how.addresses) or (port.address,), port=port),
        place=place,
        asked=replace(asked, of_limits=knobs_of_limits(spec, variables)),
        insight=how.insight(process),
        error_logs=how.error_logs,
        act=partial(act, variables, place, own_environment),
        finish=partial(finish, spec, variables, place, own_environment) if spec.finish else None,
    )
