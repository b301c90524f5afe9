"""One template with its names filled in, by jinja2; `render` says what the names are."""

from collections.abc import Mapping

from jinja2 import Environment, StrictUndefined, TemplateError, TemplateSyntaxError, UndefinedError

from httpdyno.errors import AdapterError
from httpdyno.model import level_text


def rendered_template(text: str, names: Mapping[str, object], *, source: str, there: str) -> str:
    """Return the rendered text.

    Args:
        text: The template.
        names: What it may use.
        source: What the text is called in messages: a file or a key of the study.
        there: Which names there are, for messages.

    Raises:
        AdapterError: It is not a template, or uses a name that is not there.
    """
    try:
        return _environment().from_string(text).render(names)
    except TemplateSyntaxError as error:
        raise AdapterError(
            f"`{source}` line {error.lineno} is not a template: {error.message}"
        ) from error
    except UndefinedError as error:
        raise AdapterError(
            f"`{source}` uses a name that is not there: {error.message}",
            hint=f"Templates may use {there}.",
        ) from error
    except (TemplateError, ArithmeticError, TypeError, ValueError) as error:
        raise AdapterError(f"`{source}` cannot be rendered: {error}") from error


def _environment() -> Environment:
    environment = Environment(
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - configuration files, never HTML
        finalize=lambda value: level_text(value) if isinstance(value, bool) else value,
    )
    environment.filters["python"] = repr
    return environment
