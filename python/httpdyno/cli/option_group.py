"""Options in groups: declared as fields of a dataclass, shown under a heading of their own.

A command with many options takes a few such groups instead of a parameter for each.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, fields
from inspect import Parameter, Signature
from typing import Annotated, Any, TypeVar, get_args

from typer._coercion import RuntimeParam
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.models import OptionInfo

from httpdyno.errors import UsageError

T = TypeVar("T")


def whole_number(option: str) -> Callable[[Any], int]:
    """Return a reader of an option's value, whose complaint names both."""
    return _reader(option, _whole, "a whole number of at most 64 bits")


def number(option: str) -> Callable[[Any], float]:
    """Return a reader of an option's value, whose complaint names both."""
    return _reader(option, float, "a number")


def one_of(option: str, choices: Sequence[str]) -> Callable[[Any], str]:
    """Return a reader of an option's value, whose complaint names both."""
    return _reader(option, lambda text: choices[choices.index(text)], ", ".join(choices))


def _whole(text: Any) -> int:  # noqa: ANN401 - a default is no text
    value = int(text)
    if abs(value) >= 1 << 64:  # what the engine cannot even be asked
        raise ValueError
    return value


def _reader(option: str, read: Callable[[Any], T], expected: str) -> Callable[[Any], T]:
    # The library's own complaint says neither what was given nor what is right.
    def parse(text: Any) -> T:  # noqa: ANN401 - a default is no text
        try:
            return read(text)
        except ValueError as error:
            raise UsageError(f"`{option} {text}` makes no sense; expected {expected}") from error

    return parse


def takes(**groups: type) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the options of some groups.

    Args:
        groups: Headings, with `_` for a space, and dataclasses whose fields are annotated as a
            command's parameters are. The command gets one of each, in this order.
    """
    parameters = [
        Parameter(
            each.name,
            Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=_under(heading.replace("_", " "), each.type),
        )
        for heading, group in groups.items()
        for each in fields(group)
    ]

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        def with_values(**values: Any) -> int:  # noqa: ANN401 - as declared by each field
            return command(
                *(
                    group(**{each.name: values[each.name] for each in fields(group)})
                    for group in groups.values()
                )
            )

        with_values.__name__ = command.__name__
        with_values.__doc__ = command.__doc__
        with_values.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return with_values

    return decorate


def _under(heading: str, annotation: Any) -> Any:  # noqa: ANN401 - a type with what typer knows
    kind, info = get_args(annotation)
    info = copy(info)
    if isinstance(info, OptionInfo):
        info.rich_help_panel = info.rich_help_panel or heading
    return Annotated[kind, info]


@dataclass(frozen=True)
class _AsTyped(RuntimeParam):
    """Takes a word as it was typed, or as its option's own reader reads it."""

    def _coerce_value(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401
        read = self.parameter_info.parser or str
        if param.multiple or param.nargs != 1:
            return [read(each) for each in value]
        return value if isinstance(value, int) else read(value)


def _taking_words(parameters: list[Any]) -> list[Any]:
    """Return the parameters, which take words as they are.

    Typer would read them with pydantic, which takes longer to import than a short load test runs,
    and would build a validator for each option, given or not.
    """
    for each in parameters:
        if isinstance(each, TyperOption | TyperArgument):
            kind, info = each.type_descriptor.annotation, each.type_descriptor.parameter_info
            is_switch = getattr(each, "is_flag", False) or getattr(each, "count", False)
            if kind in {str, list[str]} or info.parser is not None or is_switch:
                each._runtime_param = _AsTyped(annotation=kind, parameter_info=info)
    return parameters


class CommandGroup(TyperGroup):
    """The commands, and the options before them."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - typer's own
        """Return the options, that for help too."""
        return _taking_words(super().get_params(ctx))


class GroupedCommand(TyperCommand):
    """A command whose help shows its options under their headings."""

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - typer's own
        """Return arguments and options, that for help too."""
        return _taking_words(super().get_params(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own
        """Write the sections."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_argument = parameter.param_type_name == "argument"
                heading = getattr(parameter, "rich_help_panel", None) or "Options"
                sections.setdefault("Arguments" if is_argument else heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)
