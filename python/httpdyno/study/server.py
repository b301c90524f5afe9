"""`[server]` and `[[companions]]` of a study file, turned into what is started."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import structs

from httpdyno.errors import StudyFileError
from httpdyno.host.foreign_text import is_there
from httpdyno.model.knob import KnobInfo
from httpdyno.model.side_command import SideCommand
from httpdyno.model.study import Companion, ServerSpec
from httpdyno.servers.stack.names import SERVER, known_knobs
from httpdyno.study.command import GET, check_command, get_of
from httpdyno.study.limits import check_limits
from httpdyno.study.side_command import check_commands
from httpdyno.study.site import Wrong, check_ready
from httpdyno.study.table import StudyFile
from httpdyno.study.target_table import CompanionTable

_WORD = re.compile(r"[a-z][a-z0-9_]*")


def server_from(table: ServerSpec, folder: Path, wrong: Wrong) -> ServerSpec:
    """Return the server that a table describes, with one way to say when it is ready.

    Raises:
        StudyFileError: Something in it makes no sense.
    """

    def existing(key: str, name: str) -> None:
        if not is_there(folder / name):
            raise wrong(key, name, f"a file in {folder}")

    ready_path, ready_status = get_of(table, wrong)
    check_ready("server.ready_path", ready_path, ready_status, wrong)
    check_command(table, folder, wrong)
    check_limits(table.limits, "server.limits", wrong, has_knobs=True)
    if table.effective_path:
        check_ready("server.effective_path", table.effective_path, None, wrong)
    for index, template in enumerate(table.templates):
        existing(f"server.templates[{index}].source", template.source)
    if table.base:
        existing("server.base", table.base)
    for index, entry in enumerate(table.files):
        # Files of packages (absolute) may not be installed yet; `doctor` and the adapter tell.
        if not Path(entry.source).is_absolute():
            existing(f"server.files[{index}].from", entry.source)
    check_commands("server.prepare", table.prepare, wrong)
    check_commands("server.finish", table.finish, wrong)
    return structs.replace(
        table,
        ready="" if table.ready.startswith(GET) else table.ready,
        ready_path=ready_path,
        ready_status=ready_status,
        prepare=table.prepare_command,
        before=tuple(each for each in table.prepare if isinstance(each, SideCommand)),
    )


def with_companions(server: ServerSpec, typed: StudyFile, folder: Path, wrong: Wrong) -> ServerSpec:
    """Return the server with its companions, and the one that is loaded.

    Raises:
        StudyFileError: Something in them makes no sense, or the load is for none of them.
    """
    target = typed.workload.target
    if not typed.companions:
        if target not in {"", SERVER}:
            raise wrong("workload.target", target, "`server`: there are no companions")
        return server
    found: list[Companion] = []
    for index, table in enumerate(typed.companions):
        key = f"companions[{index}]"
        names = [SERVER, *(each.name for each in found)]
        if not _WORD.fullmatch(table.name) or table.name in names:
            raise wrong(f"{key}.name", table.name, "a word of its own, such as `front` or `db`")
        found.append(_companion(table, key, folder, wrong))
    if "{" not in target and target not in {"", SERVER, *(each.name for each in found)}:
        there = ", ".join(f"`{name}`" for name in (SERVER, *(each.name for each in found)))
        raise wrong("workload.target", target, there)
    return structs.replace(server, companions=tuple(found), loaded=target)


def infos_of(
    server: ServerSpec, of_adapter: Callable[[str], Mapping[str, KnobInfo]]
) -> Mapping[str, KnobInfo]:
    """Return what is known of the settings of all servers, under the names that a study has."""
    others = {each.name: of_adapter(each.spec.adapter) for each in server.companions}
    return known_knobs(of_adapter(server.adapter), others)


def _companion(table: CompanionTable, key: str, folder: Path, wrong: Wrong) -> Companion:
    def here(name: str, value: object, expected: str) -> StudyFileError:
        return wrong(re.sub(r"^server\b", key, name), value, expected)

    spec = server_from(_server_of(table), folder, here)
    if any(each.each == "run" for each in (*spec.before, *spec.finish)):
        raise wrong(f"{key}.prepare", "run", "`start`: only [server] has commands of a whole run")
    return Companion(name=table.name, spec=spec, side=table.side, when=table.when)


def _server_of(table: CompanionTable) -> ServerSpec:
    names = ServerSpec.__struct_fields__
    return ServerSpec(**{name: getattr(table, name) for name in names})
