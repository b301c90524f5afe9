"""Writing an instance's own httpd.conf: frame, the study's base file, overlay of knobs."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from httpdyno.model import Level, ServerSpec, level_text
from httpdyno.servers.apache.in_force import PREFORK
from httpdyno.servers.apache.installation import Installation
from httpdyno.servers.apache.knob import KNOBS, MPM
from httpdyno.servers.render import Variables, render_file
from httpdyno.servers.sandbox.user_namespace import acting_user

CONFIG = "httpd.conf"
BASE = "base.conf"
DOCUMENTS = "htdocs"
ERROR_LOG = "error.log"

_SERVER_LIMIT_DEFAULT = 256
_ALWAYS = ("authz_core", "info")
"""mod_info prints the configuration for `-D DUMP_CONFIG`; it does nothing else here."""
_TYPES = Path("/etc/mime.types")


_NO_LEVELS: Mapping[str, Level] = {}


def multi_processing(spec: ServerSpec, levels: Mapping[str, Level] = _NO_LEVELS) -> str:
    """Return the module that is to run its processes: `prefork`, `worker` or `event`.

    Args:
        spec: The target, of which it is a setting.
        levels: Of a configuration, of which it may be a knob instead.
    """
    return str(levels.get(MPM.name, spec.settings.get(MPM.name, PREFORK)))


def wanted_modules(spec: ServerSpec, levels: Mapping[str, Level] = _NO_LEVELS) -> tuple[str, ...]:
    """Return the modules that the study needs, the MPM first."""
    mpm = multi_processing(spec, levels)
    own = str(spec.settings.get("modules", "")).split()
    return tuple(dict.fromkeys((f"mpm_{mpm}", *_ALWAYS, *own)))


def config_files(
    spec: ServerSpec,
    study_folder: Path,
    variables: Variables,
    installation: Installation,
) -> dict[str, str]:
    """Return httpd.conf and the rendered base file: name in the run folder → text.

    Raises:
        AdapterError: The base file cannot be rendered.
    """
    files = {}
    modules = wanted_modules(spec, variables.knobs)
    lines = [*_frame(variables), *load_lines(modules, installation)]
    if "mime" in modules:
        lines.append(f"TypesConfig {_TYPES if _TYPES.is_file() else '/dev/null'}")
    if spec.base:
        files[BASE] = render_file(study_folder / spec.base, variables, name=spec.base)
        lines.append(f'Include "{variables.run}/{BASE}"')
    lines.append("# httpdyno's overlay")
    lines += [f"{name} {text}" for name, text in overlay(spec, variables.knobs).items()]
    files[CONFIG] = "\n".join(lines) + "\n"
    return files


def overlay(spec: ServerSpec, levels: Mapping[str, Level]) -> dict[str, str]:
    """Return the directives that httpdyno sets, as directive → argument."""
    directives = asked(levels)
    workers = levels.get("MaxRequestWorkers")
    is_prefork = multi_processing(spec, levels) == PREFORK
    if is_prefork and isinstance(workers, int) and "ServerLimit" not in directives:
        # Without it Apache would clip the workers to the limit.
        limit = max(workers, _SERVER_LIMIT_DEFAULT)
        directives = {"ServerLimit": str(limit), **directives}
    return directives


def asked_of_server(levels: Mapping[str, Level]) -> dict[str, str]:
    """Return what is asked of the running server: its directives, and its MPM where a knob is."""
    mpm = {name: level_text(level) for name, level in levels.items() if name == MPM.name}
    return {**asked(levels), **mpm}


def asked(levels: Mapping[str, Level]) -> dict[str, str]:
    """Return Apache's own knobs among the levels, as Apache writes them."""
    return {name: argument_text(level) for name, level in levels.items() if name in KNOBS}


def argument_text(level: Level) -> str:
    """Return a level as Apache writes it: `On`, not `true`."""
    if isinstance(level, bool):
        return "On" if level else "Off"
    return level_text(level)


def _frame(variables: Variables) -> list[str]:
    run = variables.run
    lines = [
        f'ServerRoot "{run}"',
        f'DefaultRuntimeDir "{run}"',
        f'PidFile "{run}/httpd.pid"',
        f'ErrorLog "{run}/{ERROR_LOG}"',
        "LogLevel warn",
        f"Listen {variables.address}",
        f"ServerName {variables.address}",
        f'DocumentRoot "{run}/{DOCUMENTS}"',
    ]
    if acting_user() == 0:
        lines += [f"User {variables.server_user}", f"Group {variables.server_user}"]
    return lines


def load_lines(modules: Iterable[str], installation: Installation) -> list[str]:
    """Return the lines that load modules, without those that are compiled in."""
    return [
        f"LoadModule {name}_module {installation.module_file(name)}"
        for name in modules
        if name not in installation.built_in
    ]
