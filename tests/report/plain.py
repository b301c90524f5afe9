"""What a report looks like where there is neither colour nor width to spare."""

from io import StringIO

from rich.console import Console, RenderableType

WIDTH = 80


def plain_text(renderable: RenderableType) -> str:
    """Return what a colourless terminal of 80 columns shows."""
    file = StringIO()
    console = Console(file=file, width=WIDTH, color_system=None, legacy_windows=False)
    console.print(renderable)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())
