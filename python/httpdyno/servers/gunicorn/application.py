"""Whether gunicorn will find its application: looked for in the study's files, nothing imported."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from httpdyno.model import ServerSpec
from httpdyno.servers.render import Variables, inside, render_text


def application_complaint(spec: ServerSpec, study_folder: Path, variables: Variables) -> str:
    """Return in words that the application's module is nowhere; empty when it may be somewhere."""
    if spec.prepare or spec.before or "PYTHONPATH" in spec.environment:
        return ""  # it may come from there
    text = str(spec.settings.get("application", ""))
    module = text.partition(":")[0].partition(".")[0]
    if not module.isidentifier():
        return f"the application `{text}` is not `module:callable`"
    directory = render_text(
        str(spec.settings.get("directory", ".")), variables, source="settings.directory"
    )
    home = inside(directory, variables)
    wanted = {home / module, home / f"{module}.py"}
    for target in _targets(spec, study_folder, variables):
        if target in wanted or wanted & set(target.parents):
            return ""
    if importlib.util.find_spec(module) is not None:
        return ""
    return (
        f"the application's module `{module}` is neither installed nor in `{directory}` of the "
        "run folder, where server.files and server.templates put it"
    )


def _targets(spec: ServerSpec, study_folder: Path, variables: Variables) -> Iterator[PurePosixPath]:
    """Yield where each file of the study comes to lie."""
    for template in spec.templates:
        yield inside(template.to, variables)
    for entry in spec.files:
        source, target = study_folder / entry.source, inside(entry.to, variables)
        yield target
        yield target / source.name
        for path in source.rglob("*") if source.is_dir() else ():
            yield target / path.relative_to(source)
