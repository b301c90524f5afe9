"""Switches for development that are on where a server serves."""

import re
from collections.abc import Iterator, Mapping

from httpdyno.advice.rules.declaration import (
    BOOK,
    GUNICORN,
    HTTPD,
    NGINX,
    PHP,
    Proposed,
    Proposes,
    Rule,
    Seen,
)
from httpdyno.advice.rules.facts import Facts, where, words
from httpdyno.model import Reading

_LOUD = re.compile(r"(?:[\w.]+:)?(debug|trace[1-8]?)", re.IGNORECASE)
_LEVELS: Mapping[str, str] = {
    "apache": "LogLevel",
    "nginx": "error_log",
    "php-fpm": "log_level",
    "gunicorn": "loglevel",
    "uvicorn": "log_level",
}
"""Kind → the reading."""
_CALM: Mapping[str, str] = {"apache": "warn", "uvicorn": "info"}
"""Kind whose level is a knob → what it proposes. Above info uvicorn writes no access log either,
which would be another question."""
_NGINX_DEBUG = "--with-debug"
"""Of its build: else it writes no more at that level."""
_TRUE = frozenset({"1", "on", "yes", "true", "stdout"})
_XDEBUG = "xdebug"
_PERL_RELOAD = re.compile(r"Apache2?::(Reload|StatINC|DB)|Devel::\w+")
_PERL = ("PerlModule", "PerlInitHandler", "PerlPostReadRequestHandler", "PerlFixupHandler")
_ONE_PROCESS = re.compile(r"(?<!\S)(?:-X|-D ?(?:ONE_PROCESS|DEBUG))(?!\S)")
_VARIABLES = ("PYTHONDEBUG", "PYTHONASYNCIODEBUG", "PYTHONDEVMODE", "PYTHONTRACEMALLOC")
_PYTHON = ("gunicorn", "uvicorn")


def _logs(facts: Facts) -> Iterator[Seen]:
    if facts.kind == "nginx" and not facts.has_module(_NGINX_DEBUG):
        return
    found = [each for each in facts.said(_LEVELS[facts.kind]) if _is_loud(each, facts.kind)]
    places = tuple(map(where, found))
    flag = facts.flag("--log-level") if facts.kind in _PYTHON else ""
    if flag:
        # It counts before the file.
        places = (f"--log-level {flag}, its command line",) if _LOUD.fullmatch(flag) else ()
    if places:
        calm = _CALM.get(facts.kind)
        yield Seen(
            what="each request writes lines for debugging into the error log",
            evidence=places,
            proposes=(Proposed(knob=_LEVELS[facts.kind], value=calm),) if calm else (),
        )


def _is_loud(reading: Reading, kind: str) -> bool:
    given = words(reading.text)
    # The first word of nginx's is a path.
    return any(_LOUD.fullmatch(word) for word in (given[1:] if kind == "nginx" else given))


def _php(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("display_errors") if each.text.lower() in _TRUE]
    if found:
        yield Seen(
            what="visitors see the errors of scripts, with paths: `display_errors` is on",
            evidence=tuple(map(where, found)),
            severity="bad",
        )
    mode = facts.said("xdebug.mode")
    is_off = bool(mode) and all(each.text.lower() == "off" for each in mode)
    # The variable counts before the setting, and its value is not read.
    is_off = is_off or "XDEBUG_MODE" in (facts.environment_names or ())
    if facts.has_module(_XDEBUG) and not is_off:
        yield Seen(
            what="xdebug is loaded: it hooks into each call of a function, and keeps the JIT off",
            evidence=tuple(map(where, mode)) or ("its extension is in the ini files",),
            do="take its ini file away (`phpdismod xdebug` on Debian), or set `xdebug.mode=off`",
        )


def _perl(facts: Facts) -> Iterator[Seen]:
    found = [r for name in _PERL for r in facts.said(name) if _PERL_RELOAD.search(r.text)]
    if found:
        yield Seen(
            what="each request looks whether modules were changed, or runs under a debugger",
            evidence=tuple(map(where, found)),
        )


def _alone(facts: Facts) -> Iterator[Seen]:
    # `-D` and its word may be one argument or two.
    joined = " ".join(facts.command[1:])
    found = _ONE_PROCESS.search(joined)
    if found:
        yield Seen(
            what=f"one process answers one request at a time: `{found[0]}` is for debugging",
            evidence=("its command line",),
        )


def _reloads(facts: Facts) -> Iterator[Seen]:
    said = [each for each in facts.said("reload") if each.text.lower() == "true"]
    is_flag = "--reload" in facts.command
    if is_flag or said:
        yield Seen(
            what="it watches its source files and restarts when one changes: `--reload`",
            evidence=("its command line",) if is_flag else tuple(map(where, said)),
        )


def _variables(facts: Facts) -> Iterator[Seen]:
    found = [name for name in _VARIABLES if name in (facts.environment_names or ())]
    if found:
        yield Seen(
            what=f"{' and '.join(f'`{name}`' for name in found)} "
            f"{'is' if len(found) == 1 else 'are'} set: checks and traces of the interpreter",
            evidence=("names of its environment",),
        )


def _node(facts: Facts) -> Iterator[Seen]:
    names = facts.environment_names
    # Where nothing is known of the environment, or the command line sets it, nothing is said.
    if not names or facts.pool is None:
        return
    if "NODE_ENV" not in names and not any("NODE_ENV" in word for word in facts.command):
        yield Seen(
            what="`NODE_ENV` is not set: Express and others then keep no compiled views, and show "
            "traces of errors to visitors",
            evidence=(f"names of its environment: {len(names):,}, and it is none of them",),
        )


RULES = (
    Rule(
        name="debug-log",
        kinds=("apache", "nginx", "php-fpm", "gunicorn", "uvicorn"),
        severity="doubtful",
        checks="An error log at level `debug` or `trace`",
        matters="Each request writes lines, each a system call, and nginx writes them only where "
        "it was built `--with-debug`.",
        needs="The level is written somewhere; nginx was built `--with-debug`.",
        do="log warnings only",
        risks="what a fault would have written is missing when it comes",
        wrong="somebody looks for a fault just now",
        source=f"{HTTPD}mod/core.html#loglevel; {NGINX}ngx_core_module.html#error_log",
        look=_logs,
        proposes=tuple(
            Proposes(knob=_LEVELS[kind], value=calm, kinds=(kind,)) for kind, calm in _CALM.items()
        ),
    ),
    Rule(
        name="php-debugging",
        kinds=("php-fpm",),
        severity="doubtful",
        checks="`display_errors` on, or xdebug loaded",
        matters="A debugger's hooks are called for each function, and errors that are shown tell "
        "strangers paths and queries.",
        needs="The setting is written for the server or a pool, or the extension is loaded "
        "and its mode is not `off`.",
        do="set `display_errors = Off` and `log_errors = On`",
        risks="errors are in the log only",
        wrong="this is a machine for development",
        source=f"{PHP}errorfunc.configuration.php#ini.display-errors; xdebug.org/docs/install",
        look=_php,
    ),
    Rule(
        name="perl-reload",
        kinds=("apache",),
        severity="doubtful",
        checks="`Apache2::Reload`, a debugger or a profiler of Perl in the configuration",
        matters="`Apache2::Reload` asks for the time of change of each loaded module, for each "
        "request: hundreds of `stat`. Profilers write for each statement.",
        needs="One of them is loaded or is a handler.",
        do="take it out, and restart the server when code changes",
        risks="changed code counts after a restart only",
        wrong="`ReloadTouchFile` is set, which makes it one `stat`, or this is for development",
        source=f"{BOOK}; perl.apache.org/docs/2.0/api/Apache2/Reload.html",
        look=_perl,
    ),
    Rule(
        name="one-process",
        kinds=("apache",),
        severity="bad",
        checks="`-X` or `-D ONE_PROCESS`",
        matters="Apache then forks no children: under prefork there is one request at a time, "
        "and all others wait for it.",
        needs="The flag is in the command line.",
        do="start it without the flag",
        risks="a debugger or a profiler sees one of several processes only",
        wrong="somebody looks for a fault just now",
        source=f"{BOOK}; {HTTPD}programs/httpd.html",
        look=_alone,
    ),
    Rule(
        name="reloading",
        kinds=_PYTHON,
        severity="bad",
        checks="`--reload`",
        matters="A watcher looks at all source files, and a file that is written, by a deployment "
        "or by the application, ends the requests under way. uvicorn has one process then.",
        needs="The flag is in the command line, or the setting in the configuration.",
        do="leave `--reload` out, and restart or reload when code is deployed",
        risks="changed code counts after a restart only",
        wrong="this is a machine for development",
        source=f"{GUNICORN}#reload; www.uvicorn.org/settings/#development",
        look=_reloads,
    ),
    Rule(
        name="python-debugging",
        kinds=_PYTHON,
        severity="doubtful",
        checks="`PYTHONDEVMODE`, `PYTHONASYNCIODEBUG` and the like in the environment",
        matters="They check each allocation, each coroutine or each import.",
        needs="The names of its environment; values are not read, and an empty one is off.",
        do="take the variable out of the unit or the script that starts it",
        risks="warnings that it gave are not given any more",
        wrong="its value is empty",
        source="docs.python.org/3/using/cmdline.html#environment-variables",
        look=_variables,
    ),
    Rule(
        name="node-environment",
        kinds=("node",),
        severity="hint",
        checks="`NODE_ENV` not set where node runs",
        matters="Express and many libraries take that for development: views are compiled for "
        "each request.",
        needs="The server runs, and the names of its environment may be seen.",
        do="set `NODE_ENV=production`",
        risks="dependencies for development are not installed by `npm ci` then",
        wrong="nothing in the program looks at it, or the program sets it itself",
        source="expressjs.com/en/advanced/best-practice-performance.html",
        look=_node,
    ),
)
