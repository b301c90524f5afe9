"""`[network]` of a study file: what names mean where its servers run."""

from pathlib import Path

from msgspec import structs

from httpdyno.errors import AdapterError, StudyFileError
from httpdyno.model.network import PrivateNetwork, Resolver
from httpdyno.model.study import ServerSpec, Study
from httpdyno.servers.own_network.text import network_texts
from httpdyno.study.target_table import NetworkTable, ResolverTable


def with_network(server: ServerSpec, table: NetworkTable | None) -> ServerSpec:
    """Return the server in the network that a table describes."""
    if table is None:
        return server
    resolver = None if table.resolver is None else _resolver(table.resolver)
    return structs.replace(server, network=PrivateNetwork(hosts=table.hosts, resolver=resolver))


def check_network(study: Study) -> None:
    """Refuse texts of a network that make no sense in one of the study's configurations.

    Raises:
        StudyFileError: With what that configuration changes of the start.
    """
    network, start = study.server.network, study.start_configuration()
    if network is None:
        return
    changes = [{}, *({knob.name: level} for knob in study.knobs for level in knob.levels)]
    for change in (*changes, *(candidate.values for candidate in study.candidates)):
        of_server = study.of_server(start.with_values(change))
        try:
            network_texts(network, of_server.values, study.server.settings)
        except AdapterError as error:
            where = ", ".join(f"{name} = {level!r}" for name, level in change.items())
            raise StudyFileError(
                f"`{Path(study.folder, study.file)}`: {error}{f', with {where}' if where else ''}",
                hint=error.hint,
            ) from error


def _resolver(table: ResolverTable) -> Resolver:
    names = {
        name: (addresses,) if isinstance(addresses, str) else addresses
        for name, addresses in table.names.items()
    }
    return Resolver(answers=table.answers, names=names, options=table.options)
