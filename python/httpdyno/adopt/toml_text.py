"""Values as TOML spells them. Pure."""

import json
from collections.abc import Mapping, Sequence

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
