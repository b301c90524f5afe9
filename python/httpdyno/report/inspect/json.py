"""What runs here, as JSON: everything in built-in types, values of the environment left out."""

from dataclasses import asdict
from typing import Any

from httpdyno.report.inspect.facts import Asked
from httpdyno.report.inspect.finding import Finding
from httpdyno.report.inspect.loaded_json import loaded_json
from httpdyno.report.inspect.page import Page, Server
from httpdyno.report.inspect.pool_json import pool_json, workers_json
from httpdyno.report.shared.message import texts
from httpdyno.report.shared.published import published

_AT_TOP = ("pool", "workers", "findings")


def inspect_json(page: Page) -> dict[str, Any]:
    """Return the whole as built-in types.

    What scripts ask for most stands at the top as well: of the one server that was named, whatever
    serves its backends, or of the only one that is shown.
    """
    servers = [_server(each) for each in page.servers]
    pairs = zip(page.servers, servers, strict=True)
    meant = [told for each, told in pairs if each.is_named] or servers
    sole = {name: meant[0][name] for name in _AT_TOP} if len(meant) == 1 else {}
    return {
        **sole,
        "servers": servers,
        "not_looked_at": dict(page.passed_over),
        "private_copy": {"isolation": page.isolation or None, "reason": page.isolation_reason},
    }


def _server(server: Server) -> dict[str, Any]:
    seen, found = server.seen, server.seen.found
    survey = seen.survey
    return {
        "kind": found.member.kind,
        "version": seen.version or None,
        "main": found.member.main or None,
        "command": list(found.member.command),
        "program": (found.root.program if found.root else found.member.program) or None,
        "pid": found.root.pid if found.root else None,
        "child_pids": [each.pid for each in found.below],
        "beside_pids": [each.pid for each in found.beside],
        "started_at_s": found.root.started_at_s if found.root else None,
        "user": (found.root.user if found.root else found.member.user) or None,
        "unit": found.member.unit or None,
        "unit_files": list(found.unit.files) if found.unit else [],
        "unit_limits": dict(found.unit.limits) if found.unit else {},
        "open_files_limit": found.open_files_limit or None,
        "environment_names": list(found.member.environment_names),
        "memory_bytes": server.observed.pool.pss_bytes if server.observed else None,
        "pool": pool_json(server.observed) if server.observed else None,
        "workers": workers_json(server.observed, server.served) if server.observed else [],
        "census": _census(server.asked) if server.asked else None,
        "load": loaded_json(server.loaded) if server.loaded else None,
        "listens": [each.address for each in found.listens],
        "survey": published(survey) if survey else None,
        "knobs": list(seen.knobs),
        "n_files": seen.n_files,
        "changed_files": list(seen.changed),
        "perhaps_changed_files": list(seen.perhaps_changed),
        "findings": [_finding(each) for each in server.findings],
        "not_seen": [*found.hidden, *(texts(server.observed.hidden) if server.observed else ())],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {**asdict(finding), "proposes": [published(p) for p in finding.proposes]}


def _census(asked: Asked) -> dict[str, Any]:
    return {
        "url": asked.url,
        "answers": {str(status): n for status, n in asked.answers},
        **published(asked.census),
    }
