"""`[network]` of a study file: what names mean where its servers run."""

from pathlib import Path

from httpdyno.errors import AdapterError, StudyFileError
from httpdyno.model.study import Study
from httpdyno.servers.own_network.network import network_texts


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
