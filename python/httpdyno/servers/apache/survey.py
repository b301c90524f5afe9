"""The survey of an Apache: settings in force, listeners, backends, logs, knobs.

What Apache prints for `-D DUMP_CONFIG -D DUMP_RUN_CFG -D DUMP_MODULES`. Pure.

`mod_info` prints each directive that is in force, with its file and line before it; what stands in
`<IfModule>` and the like is there or not, and variables are filled in.

What a configuration's directives say: settings, listeners, backends, logs, what is written.

How Apache is called for a member, to be asked or to serve.

A member's survey: of its own dump in a seat, or of its text where nothing may be run.

Where Apache passes requests on to, given the copy's addresses in place of theirs. Pure.

Which knobs this server has: its modules, what is set where, what no file holds. Pure.
"""

import os
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import structs
from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.host.runnable import ProgramOutput, own_program
from httpdyno.model import (
    Backend,
    KnobInfo,
    Level,
    Listener,
    LoadedModule,
    LogPlace,
    Member,
    Notice,
    Origin,
    Reading,
    Survey,
)
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, own_words
from httpdyno.servers.apache.in_force import adjustments
from httpdyno.servers.apache.knob import (
    BACKLOG,
    HTACCESS,
    LINK_CHECKS,
    ONE_VALUE,
    OWN_KNOBS,
    SOMAXCONN,
    SPARE,
    WRITTEN,
    ApacheKnob,
    is_threaded,
    is_tunable,
    level_of,
    number_of,
    present_name,
    spare_names,
)
from httpdyno.servers.apache.made import MODULE_FOLDERS, find_binary
from httpdyno.servers.apache.reading import (
    Scopes,
    bare_host,
    checking,
    inlinable,
    options,
    override_files,
    server_root,
    walk_of,
)
from httpdyno.servers.apache.text import (
    STATIC_MODULES,
    Directive,
    Places,
    Section,
    Walked,
    sourced_variables,
    words,
)
from httpdyno.servers.stack.adapter import MemberFiles, Seat

_FILE = re.compile(r"# In file: (.*)")
_LINE = re.compile(r"#\s*(\d+):")
_OPENS = re.compile(r"<(\S+?)(?:\s+(.*?))?>", re.DOTALL)
_MODULE = re.compile(r" (\w+_module) \((?:static|shared)\)")
_INDENTATION = 2
_FIRST_OF_RUN = "ServerRoot: "


@dataclass(frozen=True, kw_only=True, slots=True)
class Dump:
    """A configuration as Apache says it."""

    directives: tuple[Directive, ...]
    modules: tuple[str, ...] = ()
    """As `ssl_module`."""
    server_root: str = ""
    defines: tuple[str, ...] = field(default=())


def parsed_dump(output: str) -> Dump:
    """Return what a dump says; of several the last, as a server prints one at each reading.

    Args:
        output: Its standard output alone: warnings between the lines would be taken for directives.
    """
    directives: list[Directive] = []
    facts: dict[str, str] = {}
    modules: list[str] = []
    defines: list[str] = []
    lines = output.splitlines()
    at = _last_start(lines)
    sections: list[Section] = []
    file, number, is_config = "", 0, False
    for raw in lines[at:]:
        line = raw.strip()
        if match := _FILE.fullmatch(line):
            file, is_config = match[1], True
        elif raw.startswith(_FIRST_OF_RUN):
            is_config = False
            facts["ServerRoot"] = line.partition(": ")[2].strip('"')
        elif is_config:
            del sections[_depth(raw) :]
            number = _config_line(line, file, number, sections, directives)
        elif match := _MODULE.fullmatch(raw):
            modules.append(match[1])
        elif raw.startswith("Define: "):
            defines.append(raw.removeprefix("Define: ").strip())
    return Dump(
        directives=tuple(directives),
        modules=tuple(modules),
        server_root=facts.get("ServerRoot", ""),
        defines=tuple(defines),
    )


def _last_start(lines: list[str]) -> int:
    """Return where the last dump starts: where the first file's numbers go back.

    Within a dump they only grow, however often other files come between.
    """
    first = next((line for line in lines if line.startswith("# In file: ")), "")
    at = reached = 0
    for index, line in enumerate(lines[:-1]):
        if line == first and (match := _LINE.fullmatch(lines[index + 1].strip())):
            number = int(match[1])
            at = index if number <= reached else at
            reached = number
    return at


def _config_line(
    line: str, file: str, number: int, sections: list[Section], found: list[Directive]
) -> int:
    """Take one line of the configuration; return the number that the next directive has."""
    if match := _LINE.fullmatch(line):
        return int(match[1])
    if line.startswith("</"):
        return number
    if line.startswith("<") and (match := _OPENS.fullmatch(line)):
        sections.append(Section(match[1], (match[2] or "").strip(), file, number))
    elif line and not line.startswith("#"):
        name, _, arguments = line.partition(" ")
        found.append(Directive(name, arguments.strip(), tuple(sections), file, number))
    return number


def _depth(raw: str) -> int:
    """Return how many sections are open: a section without any directive is never closed."""
    return (len(raw) - len(raw.lstrip(" "))) // _INDENTATION


PROTOCOLS = {
    "http": ("http", "80"),
    "https": ("http", "443"),
    "h2": ("http", "443"),
    "h2c": ("http", "80"),
    "ws": ("http", "80"),
    "wss": ("http", "443"),
    "fcgi": ("fastcgi", "8000"),
    "uwsgi": ("uwsgi", "3031"),
    "scgi": ("scgi", "4000"),
    "ajp": ("ajp", "8009"),
}
"""Scheme → what is spoken, and the port of an address that names none."""
_URL = re.compile(r"(?:unix:(?P<socket>[^|]+)\|)?(?P<scheme>\w+):/?/?(?P<place>[^/\s]*)")
_FORMATS = {
    '%h %l %u %t "%r" %>s %b': "common",
    '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"': "combined",
}
"""Formats that go by a name everywhere. Debian's `combined` is another one: it has %O."""
_LOG_FILES = frozenset(
    {"customlog", "transferlog", "errorlog", "globallog", "forensiclog", "scriptlog", "rewritelog"}
)
_NO_LOG_FILE = ("|", "syslog")
_OWN_FILES = frozenset({"pidfile", "scoreboardfile", "davlockdb"})
_OWN_FOLDERS = frozenset({"cacheroot", "coredumpdirectory", "defaultruntimedir"})


def readings(directives: Sequence[Directive], places: Places, scopes: Scopes) -> list[Reading]:
    """Return what each directive sets, in the order of the configuration."""
    return [
        Reading(
            name=present_name(directive.name),
            scope=scopes.of(directive),
            text=directive.arguments,
            origin=origin_of(directive, places),
        )
        for directive in directives
    ]


def origin_of(directive: Directive, places: Places) -> Origin:
    """Return where a directive's arguments stand."""
    return places.origin(directive.file, directive.line, directive.name)


def listeners(directives: Sequence[Directive], places: Places) -> list[Listener]:
    """Return the addresses that it listens at, each with the hosts that are served there."""
    hosts = _hosts(directives)
    found = []
    for directive in directives:
        given = words(directive.arguments)
        if directive.name.lower() != "listen" or not given:
            continue
        address = listen_address(given[0])
        here = [host for host in hosts if serves(host, address)]
        named: list[Section | None] = [*here] or [None]
        names = dict.fromkeys(name for host in named for name in _names(host, directives))
        found.append(
            Listener(
                address=address,
                is_tls=_is_on("sslengine", here, directives),
                is_proxied=_is_on("remoteipproxyprotocol", here, directives),
                names=tuple(names),
                origin=origin_of(directive, places),
            )
        )
    return found


def listen_address(text: str) -> str:
    """Return an argument of `Listen` as `ip:port`; `80` listens everywhere."""
    if text.isdecimal():
        return f"0.0.0.0:{text}"
    return f"0.0.0.0:{text[2:]}" if text.startswith("*:") else text


def serves(host: Section, address: str) -> bool:
    """Whether a virtual host is served at a listened address."""
    at, _, port = address.rpartition(":")
    for wanted in words(host.arguments):
        if wanted.endswith("]") or ":" not in wanted:
            name, wanted_port = wanted, ""
        else:
            name, _, wanted_port = wanted.rpartition(":")
        is_port = wanted_port in ("", "*", port)
        is_everywhere = name in {"*", "_default_"} or at in {"0.0.0.0", "[::]"}  # noqa: S104
        if is_port and (is_everywhere or name == at):
            return True
    return False


def _hosts(directives: Iterable[Directive]) -> list[Section]:
    return list(dict.fromkeys(d.host for d in directives if d.host is not None))


def _names(host: Section | None, directives: Iterable[Directive]) -> list[str]:
    """Return the names of a host, of the main server where there is none."""
    sections = () if host is None else (host,)
    own = [d for d in directives if d.sections == sections]
    first = [words(d.arguments)[:1] for d in own if d.name.lower() == "servername"]
    others = [words(d.arguments) for d in own if d.name.lower() == "serveralias"]
    return [bare_host(name) for group in [*first[-1:], *others] for name in group]


def _is_on(name: str, hosts: Iterable[Section], directives: Iterable[Directive]) -> bool:
    """Whether a switch is on for the main server, which hosts inherit, or for one of them."""
    said = {
        d.host: d.arguments.strip('"').lower() != "off"
        for d in directives
        if d.name.lower() == name
    }
    main = said.get(None, False)
    return any([said.get(host, main) for host in hosts] or [main])


def backends(directives: Sequence[Directive], places: Places) -> list[Backend]:
    """Return what it connects to; a balancer's own name is none."""
    found: dict[tuple[str, str], Backend] = {}
    for directive in directives:
        for url in _urls(directive):
            match = _URL.match(url)
            if match is None or match["scheme"] not in PROTOCOLS:
                continue
            protocol, port = PROTOCOLS[match["scheme"]]
            place = match["place"].rpartition("@")[2]
            to = f"unix:{match['socket']}" if match["socket"] else with_port(place, port)
            if to and (to, protocol) not in found and "$" not in to and "%" not in to:
                origin = origin_of(directive, places)
                found[(to, protocol)] = Backend(to=to, protocol=protocol, origin=origin)
    return list(found.values())


def with_port(place: str, port: str) -> str:
    """Return an address with its port."""
    has_port = re.search(r":\d+$", place)
    return place if has_port or not place else f"{place}:{port}"


def _urls(directive: Directive) -> list[str]:
    given = words(directive.arguments)
    match directive.name.lower():
        case "proxypass" | "proxypassmatch":
            return [word for word in given[:2] if "://" in word or word.startswith("unix:")]
        case "balancermember":
            return [word for word in given[:2] if "://" in word]
        case "sethandler" | "addhandler":
            return [word.removeprefix("proxy:") for word in given[:1] if word[:6] == "proxy:"]
        case "rewriterule" if any(re.search(r"[\[,](P|proxy)[,\]]", flag) for flag in given[2:]):
            return given[1:2]
    return []


def logs(
    directives: Sequence[Directive], places: Places, scopes: Scopes, server_root: str
) -> list[LogPlace]:
    """Return the access logs; one through a program is `|program …`, as it stands there."""
    formats = {"common": '%h %l %u %t "%r" %>s %b'}
    unnamed = formats["common"]
    for directive in directives:
        match directive.name.lower(), words(directive.arguments):
            case "logformat", [text, name, *_]:
                formats[name] = text
            case "logformat", [text]:
                unnamed = text
    found = []
    for directive in directives:
        given = words(directive.arguments)
        name = directive.name.lower()
        if name not in {"customlog", "globallog", "transferlog"} or not given:
            continue
        wanted = given[1] if name != "transferlog" and len(given) > 1 else ""
        written = formats.get(wanted, wanted) if wanted else unnamed
        found.append(
            LogPlace(
                path=given[0]
                if given[0].startswith(_NO_LOG_FILE)
                else posixpath.join(server_root, given[0]),
                log_format=_FORMATS.get(written, written),
                scope=scopes.of(directive),
                origin=origin_of(directive, places),
            )
        )
    return found


def written_folders(directives: Sequence[Directive], server_root: str) -> list[str]:
    """Return the folders that it is configured to write in."""
    found: dict[str, None] = {}
    for directive in directives:
        name, given = directive.name.lower(), words(directive.arguments)
        path = given[0] if given else ""
        if name in {"mutex", "sslsessioncache"}:
            path = re.sub(r"^\w+:|\(\d+\)$", "", path) if ":" in path else ""
            path = posixpath.dirname(path) if name == "sslsessioncache" else path
        elif name in _LOG_FILES | _OWN_FILES:
            path = "" if path.startswith(_NO_LOG_FILE) else posixpath.dirname(path) or "."
        elif name not in _OWN_FOLDERS:
            continue
        if path:
            found[posixpath.normpath(posixpath.join(server_root, path))] = None
    return list(found)


INFO = "info_module"


@dataclass(frozen=True, kw_only=True, slots=True)
class Invocation:
    """Program, the arguments that say which configuration, and the environment."""

    program: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    can_dump: bool
    """Whether `mod_info` is there, which prints what is in force."""

    def serving(self) -> list[str]:
        """Return the command that serves in the foreground, and prints what it read."""
        dump = ("-D", "DUMP_CONFIG") if self.can_dump else ()
        return [self.program, *self.arguments, "-D", "FOREGROUND", *dump]

    def dumping(self) -> list[str]:
        """Return the command that prints all that is in force, and writes nothing.

        With `DUMP_RUN_CFG` it does not look for the files of keys, which only root may read.
        """
        wanted = ("DUMP_CONFIG", "DUMP_RUN_CFG", "DUMP_MODULES")
        return [self.program, *self.arguments, "-t", *(a for d in wanted for a in ("-D", d))]


def invocation(member: Member, seat: Seat, *, info: str | None) -> Invocation:
    """Return how a member's Apache is called in a seat.

    Args:
        member: Which one.
        seat: Where.
        info: The file of `mod_info` that is to be loaded; empty where the configuration loads it
            itself, None where there is none.

    Raises:
        AdapterError: It is not installed, or its variables cannot be read.
    """
    said = options(member.command[1:])
    root = member.prefix or said.prefix or server_root(member.main)
    # After their files, so that no `<IfModule mod_info.c>` of theirs comes to life.
    loads = ("-c", f"LoadModule {INFO} {info}") if info else ()
    # In a wall the copy's files are elsewhere; what they start from is not. Before there is a copy
    # the server is only asked, which writes nothing.
    own = seat.path(member.main)
    main = own if os.path.isfile(own) else member.main  # noqa: PTH113
    return Invocation(
        program=program(member),
        arguments=("-d", root, "-f", main, *said.kept, *loads),
        environment=sourced_variables(member, seat),
        can_dump=info is not None,
    )


def program(member: Member) -> str:
    """Return the program that a member runs.

    Raises:
        NotOursError: Others than this user may write what is installed.
        AdapterError: It is not installed.
    """
    named = member.program or next(iter(member.command), "")
    if named.startswith("/"):
        return named
    binary = find_binary()
    if binary is None:
        raise AdapterError("Apache is not installed", hint="Run `apt-get install apache2`.")
    return own_program(binary)


def info_file(walk: Walked) -> str | None:
    """Return the file of `mod_info`, empty where it is loaded anyway; None: there is none."""
    if INFO in walk.modules:
        return ""
    folders = dict.fromkeys(posixpath.dirname(file) for file in walk.module_files)
    folders |= dict.fromkeys(MODULE_FOLDERS)
    candidates = (f"{folder}/mod_info.so" for folder in folders)
    return next((file for file in candidates if os.path.isfile(file)), None)  # noqa: PTH113


SERVER_ROOT = "ServerRoot"
"""The reading whose origin is the main file."""
_LOAD = "LoadModule"
_NOT_SAID = frozenset({"defaultruntimedir", "serverroot"})
"""What acts while it is read, and so is in no dump."""
_NAME = "Apache httpd"
_NOT_FOLLOWED = "apache.include_not_followed"


def is_whole(survey: Survey) -> bool:
    """Whether all that a configuration includes was read."""
    return not any(each.why.code == _NOT_FOLLOWED for each in survey.notices)


def survey_of(member: Member, files: MemberFiles, seat: Seat | None) -> Survey | NotRunning:
    """Return what is in force: as the server says it in its seat, else as its text says it.

    Raises:
        AdapterError: The configuration's text cannot be followed.
    """
    walk = walk_of(member, dict(files.texts))
    info = info_file(walk)
    if seat is None:
        why = because("apache.read_alone")
        return _with_info(_survey(walk, files, _written(walk, _NAME, why)), info)
    call = invocation(member, seat, info=info)
    asked = seat.run([call.program, "-v"], environment=call.environment, user=member.user)
    version = asked.output.partition("\n")[0].removeprefix("Server version:").strip()
    if not call.can_dump:
        return _survey(walk, files, _written(walk, version, because("apache.no_info")))
    said = seat.run(
        call.dumping(),
        environment=call.environment,
        user=member.user,
        timeout_s=member.ready_timeout_s,
    )
    if said.exit_code != 0:
        # What it prints before it refuses is no part of what it says.
        words = said.errors.strip()
        why = own_words(words) if words else because("servers.refuses_to_start")
        return NotRunning(status="refused", detail=why)
    survey = _adjusted(_survey(walk, files, _dumped(said, walk, version)), said.errors)
    return _with_info(survey, info)


def _with_info(survey: Survey, info: str | None) -> Survey:
    """Add what a copy loads besides, to say what it has read."""
    if info is None:
        return survey
    reading = Reading(name=INFO, scope="", text=info)
    return structs.replace(survey, readings=(*survey.readings, reading))


def _adjusted(survey: Survey, words: str) -> Survey:
    """Return it with the numbers that Apache says it takes in place of theirs, and theirs."""
    taken = adjustments(words)
    cut = [each for each in survey.readings if each.name in taken and not each.scope]
    readings = [
        structs.replace(each, text=str(taken[each.name]), evidence="said") if each in cut else each
        for each in survey.readings
    ]
    readings += [Reading(name=f"{each.name}{WRITTEN}", scope="", text=each.text) for each in cut]
    return structs.replace(survey, readings=tuple(readings))


def _written(walk: Walked, version: str, why: Reason) -> "_Said":
    modules = dict.fromkeys([*STATIC_MODULES, *walk.modules])
    return _Said(walk.directives, list(modules), version, (why,))


def _dumped(said: ProgramOutput, walk: Walked, version: str) -> "_Said":
    dump = parsed_dump(said.output)
    acting = [d for d in walk.directives if d.name.lower() in _NOT_SAID]
    words = [line for line in said.errors.splitlines() if line.strip() not in {"", "Syntax OK"}]
    modules = [name for name in dump.modules if name != INFO or INFO in walk.modules]
    notices = tuple(because("apache.said", words=line) for line in words)
    return _Said([*acting, *dump.directives], modules, version, notices)


@dataclass(frozen=True, slots=True)
class _Said:
    directives: list[Directive]
    modules: list[str]
    version: str = ""
    notices: tuple[Reason, ...] = ()


def _survey(walk: Walked, files: MemberFiles, said: _Said) -> Survey:
    directives = said.directives
    places, scopes = Places(files.texts), Scopes(directives)
    main = Origin(file=next(iter(walk.texts)), line=0, start=0, end=0)
    root = Reading(name=SERVER_ROOT, scope="", text=walk.server_root, origin=main)
    somaxconn = Reading(name=SOMAXCONN, scope="", text=_somaxconn(), evidence="seen")
    found = [r for r in readings(directives, places, scopes) if r.name.lower() != "serverroot"]
    notices = [Notice(why=why) for why in said.notices]
    notices += [
        Notice(why=because("apache.include_not_followed", where=where)) for where in walk.unknown
    ]
    survey = Survey(
        version=said.version,
        readings=(root, somaxconn, *_last_of_each(found)),
        listeners=tuple(listeners(directives, places)),
        backends=tuple(backends(directives, places)),
        logs=tuple(logs(directives, places, scopes, walk.server_root)),
        modules=tuple(said.modules),
        # No dump has these lines: they act while they are read.
        loaded=tuple(
            LoadedModule(name=name, origin=places.origin(file, line, _LOAD))
            for name, file, line in walk.loads
            if name in said.modules
        ),
        writes=tuple(written_folders(directives, walk.server_root)),
        unreadable=files.unreadable,
    )
    survey = structs.replace(survey, notices=(*notices, *_uneditable(survey, files)))
    return _with_overrides(survey, files)


def _with_overrides(survey: Survey, files: MemberFiles) -> Survey:
    """Add what is known of the `.htaccess` files: that they can be inlined, or why not."""
    n_files = len(override_files(survey, files))
    if n_files == 0:
        return survey
    found = inlinable(survey, files)
    if isinstance(found, Reason):
        why = because("apache.not_inlined", n=n_files, why=found)
        return structs.replace(survey, notices=(*survey.notices, Notice(why=why)))
    own = [Reading(name=HTACCESS, scope=scope, text=f"{n} files") for scope, n in found.items()]
    return structs.replace(survey, readings=(*survey.readings, *own))


def _somaxconn() -> str:
    try:
        return Path("/proc/sys/net/core/somaxconn").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _last_of_each(found: list[Reading]) -> list[Reading]:
    """Return the readings without those that a later one of the same scope replaces.

    What can be tuned comes first; otherwise they are in the order of the configuration.
    """
    last = {(r.name.lower(), r.scope): index for index, r in enumerate(found)}
    kept = [
        reading
        for index, reading in enumerate(found)
        if reading.name.lower() not in ONE_VALUE
        or last[(reading.name.lower(), reading.scope)] == index
    ]
    # People look for what can be set first; among a hundred types of icons they would not find it.
    return sorted(kept, key=lambda reading: not is_tunable(reading.name))


def _uneditable(survey: Survey, files: MemberFiles) -> list[Notice]:
    """Return a notice for each place outside of the files that settings come from."""
    elsewhere = dict.fromkeys(
        reading.origin.file
        for reading in survey.readings
        if reading.origin is not None and reading.origin.file not in files.texts
    )
    return [Notice(why=because("apache.not_changed", file=file)) for file in elsewhere]


_PASSING = frozenset(
    {"proxypass", "proxypassmatch", "balancermember", "sethandler", "addhandler", "rewriterule"}
)
_ANSWERED = "proxypassreverse"
_BY_PROXY = re.compile(r"[\[,](P|proxy)[,\]]")
# Only what a word begins with: paths and queries may hold a URL of somebody else.
_PASSED_TO = re.compile(
    r"(?:(?<![^\s\"'])|(?<=[\s\"']proxy:)|(?<=^proxy:))"
    r"(?:unix:(?P<socket>[^|\s\"']+)\|)?"
    r"(?P<scheme>" + "|".join(PROTOCOLS) + r")://(?P<place>[^/\s\"'$|]*)"
)


def passes_on(name: str, arguments: str) -> bool:
    """Whether a directive of this name, in lower case, names who answers in its stead."""
    if name == "rewriterule":
        return any(_BY_PROXY.search(flags) for flags in words(arguments)[2:])
    return name in _PASSING or name in {_ANSWERED, "<proxy"}


def passed_on(name: str, text: str, survey: Survey, seat: Seat) -> str:
    """Return the arguments of such a directive with the copy's addresses.

    What an address is rewritten to in answers is perhaps the site's own name: there only those
    that requests are passed to are others.
    """
    known = {backend.to for backend in survey.backends}

    def moved(url: re.Match[str]) -> str:
        whole = url[0]
        if socket := url["socket"]:
            address = f"unix:{socket}"
            new = seat.port(address).removeprefix("unix:")
            return whole.replace(socket, new, 1)
        place = url["place"].rpartition("@")[2]
        address = with_port(place, PROTOCOLS[url["scheme"]][1])
        if not place or "%" in place or (name == _ANSWERED and address not in known):
            return whole
        new = seat.port(address)
        return whole if new == address else whole[: len(whole) - len(place)] + new

    return _PASSED_TO.sub(moved, text)


def with_addresses(reading: Reading, raw: str, survey: Survey, seat: Seat) -> str | None:
    """Return a line's new arguments; None where they stay, variables in them too.

    Args:
        reading: What the line says, its variables filled in.
        raw: The line's arguments as they are written.
        survey: What was found.
        seat: Where the copy sits.
    """
    name = reading.name.lower()
    text = reading.text if "${" in raw else raw
    if not passes_on(name, text):
        return None
    new = passed_on(name, text, survey, seat)
    return None if new == text else new


_WORKERS = "MaxRequestWorkers"


def split_name(name: str) -> tuple[str, str]:
    """Return directive and scope of a knob's name, `NAME` or `NAME@SCOPE`."""
    directive, _, scope = name.partition("@")
    return directive, scope


def offered(survey: Survey) -> Mapping[str, KnobInfo]:
    """Return what can be set here, with what was found as default.

    One that is set in virtual hosts or folders is a knob of each of them besides; one whose value
    is no level, or stands in no file, is none.
    """
    found: dict[str, KnobInfo] = {}
    for declared in OWN_KNOBS.values():
        if not _is_here(declared, survey):
            continue
        info = declared.info
        if info.name in {SPARE, HTACCESS, LINK_CHECKS}:
            found[info.name] = info
            continue
        for scope in _scopes(declared, survey):
            default = _default(declared, survey, scope)
            if default is not None:
                name = f"{info.name}@{scope}" if scope else info.name
                found[name] = replace(_bounded(info, survey), name=name, default=default)
    return found


def _is_here(declared: ApacheKnob, survey: Survey) -> bool:
    info = declared.info
    if declared.module and declared.module not in survey.modules:
        return False
    if declared.is_threaded is not None and declared.is_threaded != is_threaded(survey):
        return False
    if info.name == HTACCESS:
        return any(reading.name == HTACCESS for reading in survey.readings)
    if info.name == LINK_CHECKS:
        return bool(checking(survey))
    if info.name == SPARE:
        return all(_can_be_set(survey, name) for name in spare_names(survey))
    return True


def _scopes(declared: ApacheKnob, survey: Survey) -> list[str]:
    own = [r.scope for r in survey.readings if r.name == declared.info.name and r.scope]
    return ["", *own] if declared.is_scoped else [""]


def _can_be_set(survey: Survey, name: str, scope: str = "") -> bool:
    reading = survey.reading(name, scope)
    origin = reading.origin if reading is not None else None
    return origin is None or origin.start < origin.end


def _default(declared: ApacheKnob, survey: Survey, scope: str) -> Level | None:
    info = declared.info
    reading = survey.reading(info.name, scope)
    if reading is not None:
        level = level_of(info, reading.text) if _can_be_set(survey, info.name, scope) else None
        return _cut(level, survey) if info.name == _WORKERS else level
    if is_threaded(survey) and declared.threaded_default is not None:
        return declared.threaded_default
    return info.default


def _cut(level: Level | None, survey: Survey) -> Level | None:
    """Return the workers that the limit leaves: what was not read may raise that."""
    if type(level) is not int or not is_whole(survey):
        return level
    threads = number_of(survey, "ThreadsPerChild") if is_threaded(survey) else 1
    most = number_of(survey, "ServerLimit") * threads
    return min(level, most) if most > 0 else level


def _bounded(info: KnobInfo, survey: Survey) -> KnobInfo:
    """Return the knob with what the kernel allows."""
    somaxconn = survey.reading(SOMAXCONN)
    if info.name != BACKLOG or somaxconn is None or not somaxconn.text.isdecimal():
        return info
    return replace(info, maximum=int(somaxconn.text))
