"""What Apache prints for `-D DUMP_CONFIG -D DUMP_RUN_CFG -D DUMP_MODULES`. Pure.

`mod_info` prints each directive that is in force, with its file and line before it; what stands in
`<IfModule>` and the like is there or not, and variables are filled in.
"""

import re
from dataclasses import dataclass, field

from httpdyno.servers.apache.directive import Directive, Section

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
