"""jinja2's sandbox, with no more than templates of configurations need.

Only in the process of `program` is it safe: what a template takes of time and memory is not bounded
here.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

from jinja2 import (
    StrictUndefined,
    Template,
    TemplateError,
    TemplateSyntaxError,
    UndefinedError,
)
from jinja2.exceptions import SecurityError
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

_KINDS = ("knob", "setting", "peer")
_TEMPLATES_KEPT = 128


class _Names:
    """Names of one kind for templates; an unknown one is an error that says which there are."""

    __slots__ = ("_kind", "_used", "_values")

    def __init__(self, kind: str, values: Mapping[str, Any], used: set[str]) -> None:
        self._kind = kind
        self._values = values
        self._used = used

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a level or a peer
        if name not in self._values:
            there = ", ".join(sorted(self._values)) or "none"
            raise UndefinedError(f"'{self._kind}.{name}' is undefined (there are: {there})")
        self._used.add(name)
        return self._values[name]

    def __contains__(self, name: str) -> bool:
        return name in self._values


class _Peer:
    """Where another server of the study is."""

    __slots__ = ("address", "memory", "port", "run")

    def __init__(self, address: str, run: str, memory: str) -> None:
        self.address = address
        self.port = address.rpartition(":")[2]
        self.run = run
        self.memory = memory


_PLAIN = (str, int, float, list, tuple, dict, LoopContext, _Peer)


class _Environment(ImmutableSandboxedEnvironment):
    """Gives attributes of plain values only: methods of texts, `loop.index`, `peer.db.port`."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:  # noqa: ANN401
        return isinstance(obj, _PLAIN) and super().is_safe_attribute(obj, attr, value)

    def handle_exception(self, source: str | None = None) -> NoReturn:
        del source
        # As it is: what jinja2 makes of it is for people who see a traceback.
        raise  # noqa: PLE0704 - called where one is handled


class Sandbox:
    """Renders templates that somebody else wrote.

    Args:
        most_bytes: Of what a template may write.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        # Nothing is worked out while a template is read: that has its bound later.
        self._environment = _Environment(
            undefined=StrictUndefined,
            keep_trailing_newline=True,
            autoescape=False,
            finalize=_plain_text,
            optimized=False,
        )
        # What has a state, or makes up text, is in no configuration.
        self._environment.globals = {"range": self._environment.globals["range"], "dict": dict}
        self._environment.filters["python"] = repr
        self._read: dict[str, Template] = {}
        # What Python and jinja2 import when it is first needed is there before no file can be
        # opened.
        self._template("{{ ['a']|join|wordwrap|striptags|tojson|pprint }}").render()

    def render(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the text and the knobs that it used, or why there is none."""
        used: set[str] = set()
        parts, n_bytes = [], 0
        try:
            for part in self._template(asked["text"]).generate(_given(asked["names"], used)):
                parts.append(part)
                n_bytes += len(part.encode("utf-8", "surrogatepass"))
                if n_bytes > self._most_bytes:
                    return {"error": "size"}
        except TemplateSyntaxError as error:
            return {"error": "syntax", "words": str(error.message), "line": error.lineno}
        except SecurityError as error:
            return {"error": "forbidden", "words": str(error.message)}
        except UndefinedError as error:
            return {"error": "undefined", "words": str(error.message)}
        except (TemplateError, ArithmeticError, TypeError, ValueError) as error:
            return {"error": "failed", "words": str(error)}
        return {"text": "".join(parts), "used": sorted(used)}

    def _template(self, text: str) -> Template:
        if text not in self._read:
            if len(self._read) >= _TEMPLATES_KEPT:
                self._read.clear()
            self._read[text] = self._environment.from_string(text)
        return self._read[text]


def _plain_text(value: object) -> object:
    return ("true" if value else "false") if isinstance(value, bool) else value


def _given(names: Mapping[str, Any], used: set[str]) -> dict[str, Any]:
    """Return what a template may use; `used` gets the knobs that it asks for."""
    given = dict(names)
    for kind in _KINDS:
        values = given.get(kind, {})
        if kind == "peer":
            values = {name: _Peer(**where) for name, where in values.items()}
        given[kind] = _Names(kind, values, used if kind == "knob" else set())
    return given
