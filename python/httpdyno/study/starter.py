"""A small study to begin with: a `study.toml` with comments, and the files that it needs.

What they say stands in `starters`, a template for each kind of server.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from httpdyno.errors import UsageError

_FOLDER = Path(__file__).with_name("starters")
_APPLICATION_HINT = "such as `httpdyno study new {kind} shop:app`"
_PORT_WORDS = ("{port}", "{address}", "{{ port }}", "{{ address }}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What a study to begin with is asked to be about."""

    kind: str
    words: Sequence[str] = ()
    """The application, or program and arguments."""
    python: str = ""
    """The interpreter of a virtual environment; empty is httpdyno's own."""
    folder: str = ""
    """Where the application lies, a whole path."""
    n_cpus: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Starter:
    """A study to begin with."""

    name: str
    files: Mapping[str, str]
    """Path in the study's folder → text."""


class _Kind(NamedTuple):
    names: Callable[[Wish], tuple[str, str]]
    """Its name and title, once the words are seen to say what is to run."""
    files: Mapping[str, str] = {}
    """Those beside `study.toml`: path in the study's folder → name in `starters`."""


def starter(wish: Wish) -> Starter:
    """Return the files of a study to begin with.

    Raises:
        UsageError: The words do not say what is to run.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - heavy

    if wish.kind not in STARTERS:
        known = ", ".join(f"`{kind}`" for kind in STARTERS)
        raise UsageError(
            f"there is no study to begin with for `{wish.kind}`", hint=f"there are {known}"
        )
    kind = STARTERS[wish.kind]
    name, title = kind.names(wish)
    environment = Environment(  # noqa: S701 - a file for people, no page
        loader=FileSystemLoader(_FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["toml"] = _text
    study = environment.get_template(f"{wish.kind}.toml.j2").render(
        name=name,
        title=title,
        words=wish.words,
        folder=wish.folder,
        python=wish.python,
        levels=[each for each in sorted({2, wish.n_cpus, 2 * wish.n_cpus}) if each > 1],
    )
    beside = {path: (_FOLDER / of).read_text("utf-8") for path, of in kind.files.items()}
    return Starter(name=name, files={"study.toml": study, **beside})


def _application(wish: Wish) -> tuple[str, str]:
    hint = _APPLICATION_HINT.format(kind=wish.kind)
    if len(wish.words) != 1:
        raise UsageError(f"{wish.kind} takes one application, `module:name`", hint=hint)
    application = wish.words[0]
    if ":" not in application:
        raise UsageError(f"`{application}` is no application, `module:name`", hint=hint)
    name = application.partition(":")[0].replace(".", "-")
    return name, f"{application} under {wish.kind}"


def _site(wish: Wish) -> tuple[str, str]:
    if wish.words:
        raise UsageError(
            f"a study of {wish.kind} to begin with takes no `{' '.join(wish.words)}`",
            hint="put your files and directives into the folder that it makes",
        )
    return f"{wish.kind}-site", f"A site under {_TITLES[wish.kind]}"


_TITLES = {"apache": "Apache", "nginx": "nginx"}


def _command(wish: Wish) -> tuple[str, str]:
    if not wish.words:
        raise UsageError(
            "a command is what is to run, with its arguments",
            hint="`httpdyno study new command -- node server.js --port {port}`",
        )
    command = " ".join(wish.words)
    if not any(each in word for word in wish.words for each in _PORT_WORDS):
        raise UsageError(
            f"`{command}` does not say where to listen",
            hint="put `{port}` where its port stands: each start has another one",
        )
    return wish.words[0].rpartition("/")[2] or "server", f"{command}, as a command"


STARTERS: Mapping[str, _Kind] = {
    "gunicorn": _Kind(_application),
    "uvicorn": _Kind(_application),
    "apache": _Kind(_site, {"apache.conf.j2": "apache.conf.j2", "site/index.html": "index.html"}),
    "nginx": _Kind(_site, {"nginx.conf.j2": "nginx.conf.j2", "site/index.html": "index.html"}),
    "command": _Kind(_command),
}
"""By the kind of server."""


def _text(value: str) -> str:
    """Return a text as TOML writes it: its basic strings are JSON's."""
    return json.dumps(value, ensure_ascii=False)
