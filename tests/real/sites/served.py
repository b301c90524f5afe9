"""Whether a copy serves what its site has: each question asked in its seat, and its answer."""

import http.client
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from tests.real.sites.stock import Question, StockSite

from httpdyno.errors import HttpdynoError
from httpdyno.model import Configuration, Effective, Isolation, Level, ServerSpec, Site, Survey
from httpdyno.registry import site_adapters
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.network.address import connected
from httpdyno.servers.stack.copies import SITE, CopyStack
from httpdyno.servers.stack.names import knob_name, reached_at
from httpdyno.servers.stack.running import RunningCopy
from httpdyno.servers.stack.seats import seat_maker
from httpdyno.servers.stack.snapshot import Found, Snapshot

READY_S = 20.0
ANSWER_S = 10.0
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def wrong_answers(
    site: StockSite, values: Mapping[str, Level], *, kind: Isolation, place: Place
) -> list[str]:
    """Start a copy and ask all that there is to ask; return what is not right."""
    found: dict[str, Found] = {}
    adapters = {each.name: each for each in site_adapters()}
    for member in site.members:
        files = adapters[member.kind].read(member)
        survey = adapters[member.kind].survey(member, files, None)
        if not isinstance(survey, Survey):
            return [text(survey.detail)]
        found[member.name] = Found(member=member, files=files, survey=survey)
    server = CopyStack(
        Site(members=site.members, isolation=kind),
        Snapshot(members=found),
        adapters,
        seat_maker(kind),
    )
    asked = {knob_name(site.front.name, name): level for name, level in values.items()}
    configuration = Configuration(values=asked)
    copy = server.spawn_seated(ServerSpec(adapter=SITE), configuration, place)
    if isinstance(copy, NotRunning):
        return [text(copy.detail)]
    try:
        ready = copy.await_ready(READY_S)
        if not isinstance(ready, Effective):
            return [text(ready.detail)]
        survey = found[site.front.name].survey
        wrong = [_wrong(each, survey, copy) for each in site.questions]
        if site.piped_log:
            wrong.append(_unwritten(site.piped_log, copy))
        return [each for each in wrong if each]
    finally:
        copy.stop()


def _wrong(question: Question, survey: Survey, copy: RunningCopy) -> str:
    is_tls = question.certificate is not None
    theirs = next(each.address for each in survey.listeners if each.is_tls == is_tls)
    address = reached_at(copy.seat.port(theirs))
    try:
        status, body, location = _answer(question, address, copy.networks[0])
    except (OSError, http.client.HTTPException) as error:
        return f"{question.what}: {error}"
    if question.moved_to:
        is_right = status == http.client.MOVED_PERMANENTLY and location == question.moved_to
    else:
        is_right = status == http.client.OK and body == question.body
    said = f"{status} {location or body[:200]!r}"
    return "" if is_right else f"{question.what}: {question.host}{question.path} gives {said}"


def _answer(question: Question, address: str, network: str) -> tuple[int, str, str]:
    """Return status, body and the path of a redirect.

    Raises:
        OSError: There is no answer, or TLS was answered with another name's certificate.
    """
    connection = http.client.HTTPConnection(question.host)
    connection.sock = connected(address, ANSWER_S, network)
    try:
        if question.certificate is not None:
            # It trusts that one certificate, and looks whether the name is in it.
            trusting = ssl.create_default_context(cafile=str(question.certificate))
            connection.sock = trusting.wrap_socket(connection.sock, server_hostname=question.host)
        connection.request("GET", question.path, headers={"Connection": "close"})
        answer = connection.getresponse()
        body = answer.read().decode("utf-8", "replace")
        return answer.status, body, urlsplit(answer.headers.get("Location", "")).path
    finally:
        connection.close()


def _unwritten(line: str, copy: RunningCopy) -> str:
    """Return that no log of the copy has the line of a request; empty where one has it soon."""
    deadline_s = time.monotonic() + ANSWER_S
    while time.monotonic() < deadline_s:
        logs = [path for path in copy.seat.written() if Path(path).suffix == ".log"]
        # Rotated ones begin with the host's name, and what stands in for a pipe with `piped`.
        piped = [path for path in logs if Path(path).name.startswith(("shop.", "piped-"))]
        paths = [copy.seat.path(path) for path in piped]
        try:
            said = copy.seat.run(["/bin/cat", *paths], environment=ENVIRONMENT) if paths else None
        except HttpdynoError as error:
            return f"piped log: {error}"
        if said is not None and line in said.output:
            return ""
        time.sleep(0.05)
    return f"piped log: no line has `{line}`"
