"""Five fuzzers: study files, command lines, logs, URL files, configurations that make no sense.

Each input goes through the real command line, in this process, with everything but the sending of
requests and the starting of servers. Whatever the input, the answer is a result or one sentence:
no traceback, no wait, nothing that steers the terminal.

    python -m benches.faults.inputs [N [SEED]]
"""

import contextlib
import importlib
import io
import os
import random
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from httpdyno.catalog import bundled_studies
from httpdyno.cli import app, launch
from httpdyno.errors import UsageError
from httpdyno.host.foreign_text import visible

LONGEST_S = 10.0
"""CPU time of this process for one input; one that is read well takes milliseconds."""
_CODES = frozenset({0, 1, 2, 3})
_NOTHING_IS_SENT = "this is where load would be sent"

Draw = Callable[[random.Random, Path], list[str]]
"""Writes an input's files into a folder; returns the words of a command line."""

ODD_TEXTS = (
    *(
        "",
        " ",
        "\0",
        "\n",
        "\x1b[2J",
        "\u202e",
        "é",
        "\U0001f600",
        "'",
        '"',
        "\\",
        "{{",
        "{%",
        "}}",
    ),
    *("nan", "inf", "-inf", "1e999", "-1", "0", "9" * 400, "9" * 5000, "0x10", "1_000", "٣", "²"),
    *("..", "../..", "/", "~", "~nobody-of-that-name", "-", "--", "@", "@/dev/zero", "@nowhere"),
    *("/dev/zero", "/dev/full", "/proc/self/mem", "fifo", "folder", "x" * 300, "x" * 5000),
    *("true", "null", "[", "]", "{", "}", "a=b", "a.b.c", ":", "://", "%s", "%", "{n}", "{user}"),
)
ODD_TOML = (
    *("nan", "inf", "-inf", "0", "-1", "1e308", "9" * 400, "-" + "9" * 5000, "1979-05-27", "true"),
    *('""', '"\\u0000"', '"\\u001b[2J"', "[]", "[[]]", "{}", "{ a = 1 }", "[1, 'a']", "0.1", "''"),
    *("[" * 200 + "]" * 200, "9223372036854775808", "'''x'''", '"/dev/zero"', '"fifo"', '"../x"'),
)
_STOCK = (
    (
        "nginx.conf",
        "user www-data;\nworker_processes auto;\npid /run/nginx.pid;\nevents {\n"
        "worker_connections 768;\n}\nhttp {\nsendfile on;\ninclude mime.types;\n"
        "access_log /var/log/nginx/access.log;\ngzip on;\nserver {\nlisten 80 default_server;\n"
        "root /var/www/html;\nlocation / {\ntry_files $uri =404;\n}\n}\n}\n",
        "include {};",
    ),
    (
        "apache2.conf",
        "ServerRoot /etc/apache2\nListen 80\nKeepAlive On\nDefine LOGS /var/log/apache2\n"
        "<IfModule mpm_event_module>\nStartServers 2\nMaxRequestWorkers 150\n</IfModule>\n"
        "ErrorLog ${LOGS}/error.log\n<Macro host $name $root>\n<VirtualHost *:80>\n"
        "ServerName $name\nDocumentRoot $root\n</VirtualHost>\n</Macro>\nUse host a /srv/none\n"
        "<Directory /srv/none>\nAllowOverride All\nRequire all granted\n</Directory>\n",
        "IncludeOptional {}",
    ),
    (
        "php-fpm.conf",
        "[global]\npid = /run/php.pid\nerror_log = /var/log/php-fpm.log\n[www]\n"
        "user = www-data\nlisten = /run/php.sock\npm = dynamic\npm.max_children = 5\n"
        "pm.start_servers = 2\npm.min_spare_servers = 1\npm.max_spare_servers = 3\n"
        "env[HOSTNAME] = $HOSTNAME\nphp_admin_value[memory_limit] = 32M\n",
        "include={}",
    ),
)
"""Name, text, and how a line of it includes a path."""
_INCLUDED = (
    *("/proc/1/fd/*", "/proc/self/mem", "/sys/*/*", "/dev/*", "/dev/zero", "fifo", "folder/*"),
    *("*", "/*/*/*/*", "nginx.conf", "apache2.conf", "php-fpm.conf", "x" * 300, "/" + "x/" * 3000),
)
_LINES = (
    *(
        "location / {",
        "<VirtualHost *:80>",
        "<IfModule a>",
        "</IfModule>",
        "}",
        "'",
        '"',
        "${",
        "[",
    ),
    *("Define A ${A}${A}", "Define A aaaaaaaa", "content_by_lua_block { [[ ", "a = 'x", "a = ${x"),
    *("<Macro m $a>", "</Macro>", 'Use m "$a$a"', "Use host ${A} ${A}", "map $a $b {", "\\"),
)
_PATHS = ("out.json", "folder", "fifo", "/dev/full", "nowhere/x", "-", "", "x" * 300, "a\0b")


def draw_study(dice: random.Random, folder: Path) -> list[str]:
    """Take a bundled study and break some of it."""
    name = dice.choice(sorted(bundled_studies()))
    source = bundled_studies()[name]
    shutil.copytree(source.parent, folder / "study", dirs_exist_ok=True)
    lines = source.read_text(encoding="utf-8").splitlines()
    for _ in range(dice.randint(1, 4)):
        _break_line(dice, lines)
    text = "\n".join(lines)
    if _chance(dice, 0.1):
        text = _noise(dice, text)
    file = folder / "study" / "study.toml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    if _chance(dice, 0.5):
        return ["study", "show", str(file), *dice.choice([[], ["--json", "-"]])]
    return ["tune", str(file), "--dry-run", *dice.choice([[], ["--budget", "10m"]])]


def draw_command_line(dice: random.Random, folder: Path) -> list[str]:
    """Put words of the real vocabulary and odd ones in any order."""
    (folder / "access.log").write_text(
        '::1 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1\n'
    )
    (folder / "urls.txt").write_text("/\n2 /a\n")
    command = dice.choice([*_VOCABULARY, "nosuch"])
    words = [command]
    for _ in range(dice.randint(0, 7)):
        words.append(dice.choice(_VOCABULARY.get(command, ("-x",))))
        if _chance(dice, 0.5):
            words.append(dice.choice(_VALUES if _chance(dice, 0.6) else ODD_TEXTS))
    if _chance(dice, 0.3):
        dice.shuffle(words)
    # A command line cannot hold a NUL; and only what is below the folder may be written.
    words = [word.replace("\0", "") for word in words]
    for index, word in enumerate(words[:-1]):
        if word in _WRITING:
            words[index + 1] = dice.choice(_PATHS).replace("\0", "")
    return [word for word in words if word not in _ENDS_THE_LIST]


def draw_access_log(dice: random.Random, folder: Path) -> list[str]:
    """Write lines that nearly are of a log."""
    lines = []
    for _ in range(dice.randint(0, 30)):
        day = dice.choice(["10", "00", "31", "99", "1"])
        month = dice.choice(["Oct", "Feb", "Foo", "oct"])
        year = dice.choice(["2000", "0001", "0000", "9999", "20000"])
        clock = dice.choice(["13:55:36", "23:59:60", "25:00:00", "13:55:36.123456789"])
        zone = dice.choice(["-0700", "+0000", "+2359", "-9999", "+14", ""])
        request = dice.choice(
            [
                "GET / HTTP/1.1",
                "GET",
                "",
                "PUT /a HTTP/1.0",
                "GET http://x/y HTTP/1.1",
                "-",
                "GET *",
            ]
        )
        request = dice.choice([request, request, request + dice.choice(ODD_TEXTS)])
        status = dice.choice(["200", "404", "-", "99999", "000"])
        lines.append(f'::1 - - [{day}/{month}/{year}:{clock} {zone}] "{request}" {status} 12')
    text = "\n".join(lines) + dice.choice(["", "\n"])
    data = text.encode("utf-8", "surrogatepass")
    if _chance(dice, 0.3):
        data = _noise_bytes(dice, data)
    file = folder / "access.log"
    file.write_bytes(dice.choice([b"", b"", b"", b"\x1f\x8b"]) + data)
    options = [[], ["--speed", dice.choice(["2x", "0.0000001x", "9" * 300])]]
    options += [["--replay-spread", dice.choice(["even", "random", "burst", "odd"])]]
    options += [["--replay-methods", dice.choice(["GET", "PUT,GET", "", ",", "é"])]]
    return ["load", "http://127.0.0.1:1", "--replay", str(file), *dice.choice(options)]


def draw_url_file(dice: random.Random, folder: Path) -> list[str]:
    """Write lines that nearly are requests."""
    (folder / "body").write_text("x")
    words: tuple[str, ...] = (
        *("/", "/a b", "GET", "POST", "é", "2", "0", "1.5", "@body", "@fifo", "@folder", "#", "*"),
        *("http://127.0.0.1:1/x", "http://other/", "{n}", "{nope}", "a=b", "/:", ": /x", "9" * 400),
        *ODD_TEXTS,
    )
    lines = [
        " ".join(dice.choice(words) for _ in range(dice.randint(0, 4)))
        for _ in range(dice.randint(0, 12))
    ]
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    if _chance(dice, 0.2):
        data = _noise_bytes(dice, data)
    file = folder / dice.choice(["urls.txt", "urls.txt", "urls.txt", "fifo", "folder"])
    if file.name == "urls.txt":
        file.write_bytes(data)
    return ["load", "http://127.0.0.1:1", "--url-file", str(file)]


def draw_configuration(dice: random.Random, folder: Path) -> list[str]:
    """Take a server's configuration as packages have it, and break some of it."""
    name, text, include = dice.choice(_STOCK)
    lines = text.splitlines()
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(lines))
        match dice.randrange(6):
            case 0:
                lines[at] = _noise(dice, lines[at])
            case 1:
                del lines[at]
                lines.append("")
            case 2:
                lines.insert(at, include.format(dice.choice(_INCLUDED)))
            case 3:
                # Blocks in blocks, without their ends, and settings that come a thousand times.
                lines[at:at] = [lines[at]] * dice.choice([2, 100, 3000])
            case 4:
                lines[at] = lines[at].replace(" ", dice.choice(ODD_TEXTS), 1)
            case _:
                lines.insert(at, dice.choice(_LINES))
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    if _chance(dice, 0.2):
        data = _noise_bytes(dice, data)
    file = folder / name
    file.write_bytes(data)
    more = ["adopt", str(file), "--get", "/", "--dry-run"]
    return dice.choice([["inspect", str(file)], more])


FUZZERS: dict[str, Draw] = {
    "study file": draw_study,
    "command line": draw_command_line,
    "access log": draw_access_log,
    "URL file": draw_url_file,
    "configuration": draw_configuration,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What one input came to."""

    words: tuple[str, ...]
    code: int
    text: str
    cpu_s: float

    @property
    def is_traceback(self) -> bool:
        """Whether it surprised the program."""
        return self.code not in _CODES or "Traceback (most" in self.text

    @property
    def is_slow(self) -> bool:
        """Whether it took longer than any input may."""
        return self.cpu_s > LONGEST_S

    @property
    def steers(self) -> bool:
        """Whether something of it would reach a terminal as it is."""
        return visible(self.text) != self.text


@contextlib.contextmanager
def arena() -> Iterator[Path]:
    """A folder to be in, with all of httpdyno's own in it; nothing is started nor sent."""

    def refuse(*_: object, **__: object) -> int:
        raise UsageError(_NOTHING_IS_SENT)

    def lookup(host: str, port: int, **options: object) -> object:
        if host not in {"localhost", "127.0.0.1", "::1"}:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real_lookup(host, port, **options)  # type: ignore[arg-type]

    native = importlib.import_module("httpdyno._native")
    real_lookup, before = socket.getaddrinfo, Path.cwd()
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="faults-inputs-")))
        own = {"HTTPDYNO_DATA_DIR": str(home / "data"), "HTTPDYNO_RUN_DIR": str(home / "run")}
        stack.enter_context(mock.patch.dict(os.environ, own))
        stack.enter_context(mock.patch.object(launch, "run_and_report", refuse))
        stack.enter_context(mock.patch.object(native, "start", refuse))
        stack.enter_context(mock.patch.object(socket, "getaddrinfo", lookup))
        folder = home / "here"
        folder.mkdir()
        (folder / "folder").mkdir()
        os.mkfifo(folder / "fifo")
        os.chdir(folder)
        stack.callback(os.chdir, before)
        yield folder


def answer(draw: Draw, dice: random.Random, folder: Path) -> Answer:
    """Try one input; must be called in an `arena`."""
    words = draw(dice, folder)
    out, err = io.StringIO(), io.StringIO()
    began_s = time.process_time()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = app.run(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return Answer(
        words=tuple(words),
        code=code,
        text=out.getvalue() + err.getvalue(),
        cpu_s=time.process_time() - began_s,
    )


def measure(n: int, seed: int) -> Iterator[object]:
    """Try n inputs, as many from each fuzzer; count what gets through."""
    # Found by name: the fuzzers do without.
    count = importlib.import_module("benches.faults.family").Count
    for name, answers in _tried(n, seed):
        for what, bad in _bad(answers).items():
            first = repr(bad[0].words)[:300] if bad else ""
            yield count(name=f"{name}: {what}", value=len(bad), n=len(answers), note=first)


def _bad(answers: list[Answer]) -> dict[str, list[Answer]]:
    return {
        "tracebacks": [each for each in answers if each.is_traceback],
        f"over {LONGEST_S:g} s": [each for each in answers if each.is_slow],
        "control characters": [each for each in answers if each.steers],
    }


def _tried(n: int, seed: int) -> Iterator[tuple[str, list[Answer]]]:
    for name, draw in FUZZERS.items():
        dice = random.Random(f"{name} {seed}")
        with arena() as folder:
            yield name, [answer(draw, dice, folder) for _ in range(max(1, n // len(FUZZERS)))]


def _break_line(dice: random.Random, lines: list[str]) -> None:
    at = dice.randrange(len(lines))
    key, equals, _ = lines[at].partition("=")
    match dice.randrange(6):
        case 0 if equals:
            lines[at] = f"{key}= {dice.choice(ODD_TOML)}"
        case 1 if equals:
            lines[at] = f"{key}= {_quoted(dice.choice(ODD_TEXTS))}"
        case 2:
            del lines[at]
            lines.append("")
        case 3:
            lines.insert(at, lines[dice.randrange(len(lines))])
        case 4 if key.strip():
            place = dice.randrange(len(key.strip()))
            lines[at] = lines[at].replace(key.strip()[place], dice.choice("aé_. "), 1)
        case _:
            lines.insert(at, f"{dice.choice(['odd', 'budget', 'name', 'knobs'])} = 1")


def _chance(dice: random.Random, ratio: float) -> bool:
    return dice.random() < ratio


def _quoted(text: str) -> str:
    escaped = "".join(
        f"\\u{ord(each):04x}" if each < " " or each in '"\\\x7f' else each for each in text
    )
    return f'"{escaped}"'


def _noise(dice: random.Random, text: str) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + dice.choice(ODD_TEXTS) + text[at:]


def _noise_bytes(dice: random.Random, data: bytes) -> bytes:
    noisy = bytearray(data)
    for _ in range(dice.randint(1, 20)):
        noisy.insert(dice.randrange(len(noisy) + 1), dice.randrange(256))
    return bytes(noisy)


def _options(command: str) -> tuple[str, ...]:
    """Return the options that the command's own help names."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        app.run([*command.split(), "--help"])
    return tuple(sorted(set(re.findall(r"--?[a-z][a-z0-9.-]*", out.getvalue())))) or ("--help",)


_WRITING = ("--json", "--html", "--csv", "--hgrm", "--hlog", "--prometheus")
# A shell's own words, and what would write files that were not named.
_ENDS_THE_LIST = ("--install-completion", "--show-completion")
_VALUES = (
    *("1", "2", "30s", "500/s", "64KiB", "10%", "GET", "ok", "200", "bookmarks", "asp-bookmarks"),
    *("workers=2", "workers=1", "debug=false", "http://127.0.0.1:1/", "http://localhost:1/a"),
    *("http://[::1", "http://x:99999/", "http://é/", "ftp://x", "access.log", "urls.txt", "fifo"),
    *("folder", "A: b", "a", "p99 > 1s", "errors < 1%", "10s: 1/s..2/s", "/a: /b", "2 POST /x y"),
    *("28.8kbit:20%", "0", "0-3", "list", "show", "run", "schema", "99", "x"),
)
_VOCABULARY = {
    name: (*_options(name), *_VALUES)
    for name in ("tune", "compare", "load", "report", "history", "study", "demo")
}


def main() -> int:
    """Run all four; return 1 where anything got through."""
    n, seed = (int(word) for word in (*sys.argv[1:], *("20000", "1")[len(sys.argv) - 1 :]))
    n_bad = 0
    for name, answers in _tried(n, seed):
        slowest_s = max(each.cpu_s for each in answers)
        for what, bad in _bad(answers).items():
            n_bad += len(bad)
            print(f"{name + ': ' + what:<36} {len(bad)} of {len(answers)}", flush=True)
            for each in bad[:3]:
                print(f"  {each.words!r:.300}\n  {each.text[-600:]!r}")
        print(f"{name + ': slowest':<36} {slowest_s:.2f} s", flush=True)
    return 1 if n_bad else 0


if __name__ == "__main__":
    sys.exit(main())
