"""A kind of server so small that a test can see all of it: lines of `key = value`."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.model import (
    Backend,
    ChangeSet,
    Configuration,
    Edit,
    Effective,
    KnobInfo,
    Level,
    Listener,
    Member,
    Origin,
    Reading,
    Survey,
)
from httpdyno.reason import Reason
from httpdyno.servers.adapter import NotRunning, own_words
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.stack.adapter import Insight, Launch, MemberFiles, Seat, ServerAdapter

_LINE = re.compile(rb"^(\w+) = (.*)$", re.MULTILINE)

PROGRAM = """
import http.server, re, socket, sys
settings = dict(re.findall(r"(?m)^(\\w+) = (.*)$", open(sys.argv[1]).read()))
def call(host):
    try:
        socket.create_connection((host, 5432), timeout=5)
    except OSError:
        pass
if "calls" in settings:
    call(settings["calls"])
if not settings["answer"].isdigit():
    sys.exit(f"toy: answer is no number: {settings['answer']}")
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = f"{settings['answer']} {self.headers['Host']}".encode()
        if self.path == "/call":
            call("10.0.0.5")
        if self.path == "/write":
            open(settings["writes"] + "/written", "w").write("x")
        if self.path == "/unsaid":
            open(settings["unsaid"] + "/written", "w").write("x")
        self.send_response(404 if self.path == "/missing" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
import threading
if "second" in settings:
    second = http.server.ThreadingHTTPServer(("0.0.0.0", int(settings["second"])), Handler)
    threading.Thread(target=second.serve_forever, daemon=True).start()
if "unix" in settings:
    import socketserver
    class Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True
    Unix(settings["unix"], Handler).serve_forever()
http.server.ThreadingHTTPServer(("0.0.0.0", int(settings["port"])), Handler).serve_forever()
"""


@dataclass(frozen=True, kw_only=True)
class ToyInsight(Insight):
    """What is known of a toy that runs: nothing but what it was started with."""

    process: ServerProcess
    asked: Mapping[str, str]

    def words(self) -> str:
        return self.process.last_words().strip()

    def refusal(self, exit_code: int | None, words: str) -> bool:
        return exit_code == 1 and words.startswith("toy:")

    def lacking(self) -> Reason | None:
        return None

    def effective(self) -> Effective | NotRunning:
        return Effective(values=dict(self.asked), asked=dict(self.asked))


@dataclass(frozen=True, kw_only=True)
class Toy(ServerAdapter):
    """The adapter."""

    name = "toy"
    usually: Sequence[Member] = ()
    says: str = "toy/1.0"
    infos: Mapping[str, KnobInfo] = field(default_factory=dict)

    def usual(self) -> tuple[Member, ...]:
        return tuple(self.usually)

    def at(self, path: str) -> Member | None:
        is_toy = path.endswith(".toy")
        return Member(name=Path(path).stem, kind="toy", main=path) if is_toy else None

    def read(self, member: Member) -> MemberFiles:
        try:
            text, real = Path(member.main).read_bytes(), os.path.realpath(member.main)
            return MemberFiles(texts={member.main: text}, real={member.main: real})
        except OSError as error:
            raise AdapterError(f"`{member.main}` cannot be read") from error

    def survey(self, member: Member, files: MemberFiles, seat: Seat | None) -> Survey | NotRunning:
        del seat
        text = files.texts[member.main]
        readings = []
        for found in _LINE.finditer(text):
            origin = Origin(
                file=member.main,
                line=text.count(b"\n", 0, found.start()) + 1,
                start=found.start(2),
                end=found.end(2),
            )
            name, value = found[1].decode(), found[2].decode()
            readings.append(Reading(name=name, scope="", text=value, origin=origin))
        values = {each.name: each for each in readings}
        if "port" not in values:
            return NotRunning(status="refused", detail=own_words("toy: no port"))
        where = f"unix:{values['unix'].text}" if "unix" in values else ""
        where = where or f"0.0.0.0:{values['port'].text}"
        return Survey(
            version=self.says,
            readings=tuple(readings),
            listeners=(Listener(address=where, names=("toy.example",)),)
            if values["port"].text != "unsaid"
            else (),
            backends=tuple(
                Backend(to=each.text, protocol="http", origin=each.origin)
                for each in readings
                if each.name == "backend"
            ),
            writes=tuple(each.text for each in readings if each.name == "writes"),
        )

    def knobs(self, survey: Survey | None = None) -> Mapping[str, KnobInfo]:
        assert survey is not None
        return {
            each.name: KnobInfo(
                name=each.name,
                summary=f"the {each.name}",
                kind="text",
                default=each.text,
                cost="restart",
            )
            for each in survey.readings
            if each.name == "answer"
        }

    def change_set(
        self, survey: Survey, files: MemberFiles, values: Mapping[str, Level]
    ) -> ChangeSet:
        del files
        edits = []
        for name, value in values.items():
            reading = survey.reading(name)
            if reading is None or reading.origin is None:
                raise AdapterError(f"a toy has no {name}")
            if str(value) != reading.text:
                o = reading.origin
                edits.append(Edit(file=o.file, start=o.start, end=o.end, text=str(value)))
        return ChangeSet(edits=tuple(edits))

    def launch(
        self, member: Member, survey: Survey, seat: Seat, asked: Configuration, changes: ChangeSet
    ) -> Launch:
        del survey, changes, seat
        said = {name: str(value) for name, value in asked.values.items()}

        def insight(process: ServerProcess) -> Insight:
            return ToyInsight(process=process, asked=said)

        return Launch(command=[sys.executable, "-c", PROGRAM, member.main], insight=insight)
