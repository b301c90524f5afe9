"""What of this machine the settings of a server are judged beside."""

import os
from contextlib import suppress
from dataclasses import replace

from httpdyno.advice.rules.apache_perl import linked_folders
from httpdyno.advice.rules.facts import Front
from httpdyno.advice.rules.programs import folders_of
from httpdyno.report.inspect.facts import ENVIRONMENT, Surroundings, facts_of
from httpdyno.servers.apache_site.perl import perl_files
from httpdyno.servers.discover.inspection import Inspected
from httpdyno.telemetry.host import filesystems


def surroundings_of(seen: Inspected, fronts: tuple[Front, ...] = ()) -> Surroundings:
    """Return what of the machine a server's settings are judged beside.

    Args:
        seen: The server.
        fronts: Proxies before it.
    """
    root = seen.found.root
    n_cpus = None
    with suppress(OSError):
        n_cpus = len(os.sched_getaffinity(root.pid)) if root else None
    if seen.survey is None:
        return Surroundings(n_cpus=n_cpus)
    is_hidden = ENVIRONMENT in seen.found.hidden
    names = None if is_hidden else seen.found.member.environment_names
    told = Surroundings(n_cpus=n_cpus, perl=perl_files(seen.survey, names), fronts=fronts)
    facts = facts_of(seen, None, told)
    if facts is None:
        return told
    folders = folders_of(facts)
    return replace(
        told,
        filesystems=filesystems(folders, root.pid if root else None) if folders else {},
        real_paths={each: os.path.realpath(each) for each in linked_folders(facts)},
    )
