"""What of a study nobody else should read, and how it is kept out of what is stored and shown.

Values of `Authorization`, `Cookie` and their like, passwords in URLs and all values of the server's
environment. The store keeps a salted digest in their place, so that a run which goes on can tell
whether the study file still says the same; reports keep the names only.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from httpdyno.errors import UsageError
from httpdyno.model.load_outcome import LoadOutcome
from httpdyno.model.result import Outcome
from httpdyno.model.study import Plan, Study
from httpdyno.model.turns import TurnsOutcome
from httpdyno.model.workload import RequestSpec, Workload

T = TypeVar("T", Study, Plan, Outcome, LoadOutcome, TurnsOutcome)
Conceal = Callable[[str], str]

KEPT_BACK = "(kept back)"
"""What reports say in place of a value."""

_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "x-auth-token", "x-csrf-token"}
)
_DIGEST = re.compile(r"sha256:([0-9a-f]{8}):[0-9a-f]{32}")
# A password may hold a `/`; what looks like one by mistake is only kept back needlessly.
_PASSWORD = re.compile(r"(?<=://)([^\s/:@]*):([^\s@]+)(?=@)")


def without_values(what: T) -> T:
    """Return the same with names only, for reports."""
    return _concealed(what, lambda value: KEPT_BACK if value else value)


def load_without_values(outcome: LoadOutcome) -> LoadOutcome:
    """Return the outcome of a load test with names only; its millions of figures are not copied."""
    return structs.replace(
        outcome,
        workload=workload_without_values(outcome.workload),
        requests=_requests_without_values(outcome.requests),
    )


def workload_without_values(workload: Workload) -> Workload:
    """Return the workload with names only, for reports."""
    return structs.replace(
        workload,
        requests=_requests_without_values(workload.requests),
        first=tuple(
            structs.replace(each, body=KEPT_BACK if each.body else "")
            for each in _requests_without_values(workload.first)
        ),
    )


def _requests_without_values(requests: tuple[RequestSpec, ...]) -> tuple[RequestSpec, ...]:
    def conceal(value: str) -> str:
        return KEPT_BACK if value else value

    return tuple(
        structs.replace(
            each,
            headers=tuple(
                (name, conceal(text) if name.lower() in _HEADERS else _text(text, conceal))
                for name, text in each.headers
            ),
        )
        for each in requests
    )


def without_passwords(text: str) -> str:
    """Return a text without the passwords of the URLs in it."""
    return _text(text, lambda _: KEPT_BACK)


def with_digests(what: T, salt: str) -> T:
    """Return the same with digests in the place of secrets, for the store.

    Args:
        what: What holds a study or a workload.
        salt: Eight hexadecimal digits; the same secret is another digest elsewhere.
    """
    return _concealed(what, lambda value: _digest(value, salt))


def has_digests(study: Study) -> bool:
    """Whether secrets of the study were replaced by digests."""
    return _DIGEST.search(msgspec.json.encode(study).decode()) is not None


def with_secrets_of(stored: Study, fresh: Study) -> Study:
    """Return the stored study with its secrets from the study file as it is now.

    Raises:
        UsageError: One of them is not what it was.
    """
    plain = _restored(msgspec.to_builtins(stored), msgspec.to_builtins(fresh), "")
    return msgspec.convert(plain, Study)


def _digest(value: str, salt: str) -> str:
    if not value or _DIGEST.fullmatch(value):
        return value
    return f"sha256:{salt}:{hashlib.sha256(f'{salt}:{value}'.encode()).hexdigest()[:32]}"


def _concealed(what: T, conceal: Conceal) -> T:
    plain = _walked(msgspec.to_builtins(what), conceal)
    # Infinities are no JSON, but they are built-in types.
    return msgspec.convert(plain, type(what))


def _walked(value: Any, conceal: Conceal) -> Any:  # noqa: ANN401 - built-in types
    if isinstance(value, dict):
        return {key: _member(key, each, conceal) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_walked(each, conceal) for each in value]
    return _text(value, conceal) if isinstance(value, str) else value


def _member(key: str, value: Any, conceal: Conceal) -> Any:  # noqa: ANN401 - built-in types
    if key == "environment" and isinstance(value, dict):
        return {name: conceal(text) for name, text in value.items()}
    if key == "headers" and isinstance(value, list | tuple):
        return [
            [name, conceal(text) if name.lower() in _HEADERS else _text(text, conceal)]
            for name, text in value
        ]
    if key == "first" and isinstance(value, list | tuple):
        return [_first_step(each, conceal) for each in value]
    return _walked(value, conceal)


def _first_step(value: Any, conceal: Conceal) -> Any:  # noqa: ANN401 - built-in types
    """Return a step without what is sent to log in; what is called like it stays as it is."""
    walked = _walked(value, conceal)
    if isinstance(walked, dict) and isinstance(walked.get("body"), str):
        return {**walked, "body": conceal(walked["body"])}
    return walked


def _text(text: str, conceal: Conceal) -> str:
    return _PASSWORD.sub(lambda found: f"{found[1]}:{conceal(found[2])}", text)


def _restored(stored: Any, fresh: Any, key: str) -> Any:  # noqa: ANN401 - built-in types
    if isinstance(stored, dict):
        there = fresh if isinstance(fresh, dict) else {}
        return {
            name: _restored(each, there.get(name), f"{key}.{name}".removeprefix("."))
            for name, each in stored.items()
        }
    if isinstance(stored, list | tuple):
        others = list(fresh) if isinstance(fresh, list | tuple) else []
        others += [None] * (len(stored) - len(others))
        pairs = zip(stored, others, strict=False)
        return [
            _restored(each, other, f"{key}[{index}]") for index, (each, other) in enumerate(pairs)
        ]
    found = _DIGEST.search(stored) if isinstance(stored, str) else None
    if found is None:
        return stored
    salt = found[1]
    if isinstance(fresh, str) and stored in {
        _digest(fresh, salt),
        _text(fresh, lambda value: _digest(value, salt)),
    }:
        return fresh
    raise UsageError(
        f"{key} of the study is not what it was when the run began",
        hint="put it back as it was, or begin a new run",
    )
