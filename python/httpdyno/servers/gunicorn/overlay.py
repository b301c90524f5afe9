"""What httpdyno puts after a person's own settings of gunicorn: hooks, places of its own, flags.

A configuration that is code is never edited. The overlay is a module that executes theirs first,
with its own `__file__`, and then adds to it: no file, socket or address of theirs is written or
taken. Levels of knobs come as flags on the command line, which gunicorn reads last of all; only a
switch that no flag turns off stands in the overlay.
"""

from collections.abc import Mapping

from httpdyno.model import Level

EFFECTIVE = "effective.json"
"""Where the arbiter writes down what it is set to."""
BOOTED = "booted"
"""Where each worker that has loaded the application leaves a sign."""

FLAGS = {
    "workers": "--workers",
    "worker_class": "--worker-class",
    "threads": "--threads",
    "worker_connections": "--worker-connections",
    "max_requests": "--max-requests",
    "max_requests_jitter": "--max-requests-jitter",
    "timeout": "--timeout",
    "graceful_timeout": "--graceful-timeout",
    "keepalive": "--keep-alive",
    "backlog": "--backlog",
    "worker_tmp_dir": "--worker-tmp-dir",
    "limit_request_line": "--limit-request-line",
    "limit_request_fields": "--limit-request-fields",
}
SWITCHES: dict[tuple[str, Level], str] = {
    ("preload_app", True): "--preload",
    ("reuse_port", True): "--reuse-port",
    ("sendfile", False): "--no-sendfile",
}
"""A switch and the level that its flag stands for; there is no flag for the other one."""

_HOOKS = """
_when_ready_before = globals().get("when_ready")
_post_worker_init_before = globals().get("post_worker_init")


def when_ready(server):
    import json, os, sys
    import gunicorn
    # Opened by who starts gunicorn: its workers may be another user.
    global _booted
    _booted = os.open(BOOTED, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    said = {name: setting.get() for name, setting in server.cfg.settings.items()}
    said["worker_class"] = server.cfg.worker_class_str
    said = {name: value for name, value in said.items()
            if value is None or isinstance(value, (bool, int, float, str))}
    said["program"] = "gunicorn %s, Python %s" % (gunicorn.__version__, sys.version.split()[0])
    said["executable"] = sys.executable
    with open(EFFECTIVE + ".new", "w") as file:
        json.dump(said, file)
    os.rename(EFFECTIVE + ".new", EFFECTIVE)
    if _when_ready_before is not None:
        _when_ready_before(server)


def post_worker_init(worker):
    if worker.age <= worker.cfg.workers:
        import os
        os.write(_booted, b"1")
    if _post_worker_init_before is not None:
        _post_worker_init_before(worker)
"""

_THEIRS = """\
# {name}, as it is
__file__ = THEIRS
with open(THEIRS, "rb") as _file:
    exec(compile(_file.read(), THEIRS, "exec"))

"""
_OWN_PLACES = """\
# httpdyno's overlay: nothing of theirs is written to or listened at
daemon = False
control_socket_disable = True
statsd_host = None
syslog = False
logconfig = logconfig_json = None
logconfig_dict = {}
if globals().get("accesslog") not in (None, "-"):
    accesslog = RUN + "/access.log"
"""


def hooks(run: str) -> str:
    """Return the hooks by which the arbiter and its workers say what they are.

    Args:
        run: The run folder.
    """
    text = _HOOKS
    for name, file in (("EFFECTIVE", EFFECTIVE), ("BOOTED", BOOTED)):
        text = text.replace(name, repr(f"{run}/{file}"))
    return text


def overlay(config: str, run: str, levels: Mapping[str, Level]) -> str:
    """Return the module that executes a person's configuration and adds to it.

    Args:
        config: Path of theirs; empty for none.
        run: The run folder.
        levels: Those of gunicorn's own settings.
    """
    theirs = _THEIRS.format(name=config).replace("THEIRS", repr(config)) if config else ""
    places = _OWN_PLACES.replace("RUN", repr(run))
    switches = "".join(
        f"{name} = {value!r}\n"
        for name, value in levels.items()
        if name not in FLAGS and (name, value) not in SWITCHES
    )
    return theirs + places + switches + hooks(run)


def flags(levels: Mapping[str, Level]) -> list[str]:
    """Return the levels as gunicorn's command line has them."""
    found: list[str] = []
    for name, value in levels.items():
        if name in FLAGS:
            found += [FLAGS[name], str(value)]
        elif switch := SWITCHES.get((name, value)):
            found.append(switch)
    return found


def own_places(address: str, run: str) -> list[str]:
    """Return the flags that let it listen and write at places of its own."""
    return [
        *("--bind", address),
        *("--pid", f"{run}/gunicorn.pid"),
        *("--error-logfile", "-"),
    ]
