"""The study file of a site: what a person reads first, and changes; and what it asks the site for.

Pure but for reading a URL file.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from msgspec import structs

from httpdyno.advice.proposal import KnobProposal, Proposals
from httpdyno.errors import UsageError
from httpdyno.experiment.answer.ask import accepted
from httpdyno.load.check import check_headers
from httpdyno.load.url_file import RequestLine, read_url_file, request_line
from httpdyno.model import KnobInfo, Member, RequestSpec, SideCommand, Site
from httpdyno.reason import because
from httpdyno.report.shared import message

Plain = str | bool | int | float


def toml_value(value: Plain | Sequence[Plain]) -> str:
    """Return one value: text, number, boolean, or a list of those."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A TOML basic string is JSON's, but for DEL, which it wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    return f"[{', '.join(toml_value(each) for each in value)}]"


def toml_lines(values: Mapping[str, Plain | Sequence[Plain]]) -> list[str]:
    """Return a line for each key whose value says something: not empty text, not an empty list."""
    return [
        f"{key} = {toml_value(value)}"
        for key, value in values.items()
        if not (isinstance(value, str | tuple | list) and not value)
    ]


def comment(text: str, *, width: int = 98) -> list[str]:
    """Return text as comment lines no wider than `width`, where its words allow it."""
    lines: list[str] = []
    for paragraph in text.splitlines():
        line = "#"
        for word in paragraph.split():
            if len(line) + 1 + len(word) > width and line != "#":
                lines.append(line)
                line = "#"
            line = f"{line} {word}"
        lines.append(line)
    return lines


_OBJECTIVE = [
    "[objective]",
    *toml_lines({"metric": "throughput_per_s", "tie_breaker": "cpu_s_per_request"}),
]
"""Where workers wait, what saves CPU does not show in throughput: it is kept where it is proven to
lose little of that."""

_USUAL_START_S = 20.0
"""What a study that says nothing has as `ready_timeout`."""


_COSTS = {"reload": because("adopt.takes_reload"), "restart": because("adopt.takes_restart")}
"""What applying a knob takes, where it is more than to write it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """What requests a study sends, and how."""

    requests: tuple[RequestSpec, ...]
    connections: int
    is_tls: bool = False
    is_guess: bool = False
    """Nobody said what is asked for: it is the ready path alone."""
    replay: str = ""
    """An access log in the study's folder, in place of the requests."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyText:
    """All that a study file is made of."""

    name: str
    title: str
    about: str
    site: Site
    ready_path: str
    ready_status: int | None
    offer: Offer
    proposals: Proposals
    infos: Mapping[str, KnobInfo]
    budget_s: float
    before: tuple[SideCommand, ...] = ()
    """What is run in each copy before its start."""

    def written(self) -> str:
        """Return the file."""
        blocks = [
            comment(self.about),
            toml_lines({"format": 2, "name": self.name, "title": self.title}),
            self._site(),
            *(_member(member) for member in self.site.members),
            *(
                ["[[site.doors]]", *toml_lines({"to": d.to, "through": d.through, "why": d.why})]
                for d in self.site.doors
            ),
            *(["[[site.prepare]]", *toml_lines({"run": each.run})] for each in self.before),
            *self._workload(),
            *([] if self.offer.replay else [_OBJECTIVE]),
            ["[budget]", f"time = {toml_value(_time(self.budget_s))}"],
            *(self._knob(each) for each in self.proposals.tried),
            *self._listed(),
        ]
        return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"

    def _site(self) -> list[str]:
        keys = {
            "snapshot": self.site.snapshot,
            "isolation": self.site.isolation,
            "listener": self.site.listener,
            "host": self.site.host,
            "tls": self.offer.is_tls or "",
            "ready": self.ready_path,
            "writes": self.site.writes,
            "caveats": self.site.caveats,
        }
        lines = ["[site]", *toml_lines(keys)]
        return (
            lines if self.ready_status is None else [*lines, f"ready_status = {self.ready_status}"]
        )

    def _workload(self) -> list[list[str]]:
        offer = self.offer
        head = ["[workload]", f"connections = {offer.connections}"]
        if offer.is_guess:
            head = [*comment(message.text(because("adopt.guessed_requests"))), *head]
        if offer.replay:
            head.append(f"replay = {toml_value(offer.replay)}")
        blocks = [head]
        return blocks if offer.replay else [*blocks, *(_request(each) for each in offer.requests)]

    def _knob(self, proposal: KnobProposal) -> list[str]:
        info = self.infos[proposal.name]
        keys = {
            "name": proposal.name,
            "start": proposal.start,
            "levels": proposal.levels,
            "why": message.text(proposal.why) if proposal.why else "",
        }
        is_said = proposal.memory is not None and proposal.memory != proposal.blocked
        memory = comment(message.text(proposal.memory)) if is_said and proposal.memory else []
        return [*_remarks(info), *memory, "[[knobs]]", *toml_lines(keys)]

    def _listed(self) -> list[list[str]]:
        if not self.proposals.listed:
            return []
        head = comment(message.text(because("adopt.listed_knobs")))
        blocks = []
        for each in self.proposals.listed:
            lines = self._knob(each)
            blocks.append(
                [
                    *(comment(message.text(each.blocked)) if each.blocked else []),
                    *(line if line.startswith("#") else f"# {line}" for line in lines),
                ]
            )
        return [head, *blocks]


def _member(member: Member) -> list[str]:
    keys = {
        "name": member.name,
        "kind": member.kind,
        "main": member.main,
        "command": member.command,
        "program": member.program,
        "folder": member.folder,
        "prefix": member.prefix,
        "user": member.user,
        "unit": member.unit,
        "environment_names": member.environment_names,
        "environment_from": member.environment_from,
        "serves": member.serves,
        "ready_timeout": ""
        if member.ready_timeout_s == _USUAL_START_S
        else f"{member.ready_timeout_s:g}s",
    }
    pairs = (f"{json.dumps(k)} = {toml_value(v)}" for k, v in member.environment.items())
    own = [f"environment = {{ {', '.join(pairs)} }}"] if member.environment else []
    return ["[[site.members]]", *toml_lines(keys), *own]


def _request(request: RequestSpec) -> list[str]:
    lines = ["[[workload.requests]]", f"path = {toml_value(request.path)}"]
    if request.method != "GET":
        lines.append(f"method = {toml_value(request.method)}")
    if request.headers:
        pairs = ", ".join(
            f"{toml_value(name)} = {toml_value(text)}" for name, text in request.headers
        )
        lines.append(f"headers = {{ {pairs} }}")
    status: str | int = "ok" if request.expect_status is None else request.expect_status
    return [*lines, f"expect_status = {toml_value(status)}"]


def _remarks(info: KnobInfo) -> list[str]:
    """Return what applying it takes and risks, as comments."""
    parts = chain(
        [message.text(_COSTS[info.cost]) if info.cost in _COSTS else ""],
        [f"{info.risk[:1].upper()}{info.risk[1:].rstrip('.')}." if info.risk else ""],
    )
    said = " ".join(part for part in parts if part)
    return comment(said) if said else []


def _time(seconds: float) -> str:
    """Return a duration as a study takes it, exactly."""
    whole_min, rest_s = divmod(seconds, 60)
    return f"{whole_min:g}m" if not rest_s else f"{seconds:g}s"


def described(members: Sequence[Member]) -> str:
    """Return the members in words: `nginx and php-fpm`."""
    kinds = [member.kind for member in members]
    return kinds[0] if len(kinds) == 1 else f"{', '.join(kinds[:-1])} and {kinds[-1]}"


_CONNECTIONS = 16
_SAFE = ("", "GET", "HEAD")


def offered(  # noqa: PLR0913 - what a person may say of requests
    *,
    paths: Sequence[str],
    url_file: Path | None,
    ready_path: str,
    connections: int | None,
    is_tls: bool,
    headers: Sequence[tuple[str, str]] = (),
) -> Offer:
    """Return what is asked for: the paths, the file's lines, or the ready path as a guess.

    It is asked for as browsers do, who take compressed answers, where the headers do not say else.

    Raises:
        UsageError: A line is no request, or one that changes something; a header cannot be sent.
    """
    check_headers(headers)
    is_said = any(name.lower() == "accept-encoding" for name, _ in headers)
    usual = () if is_said else (("Accept-Encoding", accepted()),)
    sent = (*usual, *(each for each in headers if each[1]))
    lines = [request_line(path, Path()) for path in paths]
    if url_file is not None:
        lines += read_url_file(url_file)
    guess = RequestSpec(path=ready_path, expect_status=None)
    requests = tuple(map(_asked_request, lines)) or (guess,)
    return Offer(
        requests=tuple(structs.replace(each, headers=sent) for each in requests),
        connections=connections or _CONNECTIONS,
        is_tls=is_tls,
        is_guess=not lines,
    )


def _asked_request(line: RequestLine) -> RequestSpec:
    if line.method not in _SAFE or line.body or line.body_file:
        raise UsageError(
            f"`{line.method} {line.url}` may change something, and only GET and HEAD are asked of "
            "your own server",
            hint="write it into the study by hand, as a [[workload.requests]] with its method",
        )
    if not line.url.startswith("/"):
        raise UsageError(
            f"`{line.url}` names a host",
            hint="give paths from `/` on; `--host NAME` names the host",
        )
    return RequestSpec(path=line.url, method=line.method or "GET", expect_status=None)
