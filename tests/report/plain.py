"""What a report looks like where there is neither colour nor width to spare."""

from io import StringIO

from rich.console import Console, RenderableType

WIDTH = 80


def plain_text(renderable: RenderableType, width: int = WIDTH) -> str:
    """Return what a colourless terminal of so many columns shows."""
    file = StringIO()
    console = Console(file=file, width=width, color_system=None, legacy_windows=False)
    console.print(renderable)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())
