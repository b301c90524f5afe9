"""What `httpdyno load` gives out: its options, declared once, and the files that they ask for.

The command takes the options as they are, makes `LoadOutputs` of them before any load is sent
(`check` refuses what could not be written), runs, and hands the outcome to `write`, whose result is
the exit code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from httpdyno.cli.console import messages, results
from httpdyno.cli.output import STDOUT, check_files, json_text, write_text
from httpdyno.cli.standard_streams import say_raw
from httpdyno.errors import UsageError
from httpdyno.model import LoadOutcome
from httpdyno.report.load.json import load_json
from httpdyno.report.load.text import load_text, threshold_text
from httpdyno.report.load.threshold import is_good_enough, parsed
from httpdyno.secret import load_without_values

CsvOption = Annotated[
    str | None,
    typer.Option("--csv", metavar="FILE", help="Write results per interval as CSV."),
]
HgrmOption = Annotated[
    str | None,
    typer.Option(
        "--hgrm",
        metavar="FILE",
        help="Write latency percentiles in HdrHistogram's plot format.",
    ),
]
HlogOption = Annotated[
    str | None,
    typer.Option("--hlog", metavar="FILE", help="Write a log of HdrHistograms, one per interval."),
]
PrometheusOption = Annotated[
    str | None,
    typer.Option("--prometheus", metavar="FILE", help="Write metrics in Prometheus text format."),
]
LoadHtmlOption = Annotated[
    str | None, typer.Option("--html", metavar="FILE", help="Write an HTML report in one file.")
]
FailIfOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        metavar="CONDITION",
        help="Exit with 1 if true: `p99 > 200ms`, `errors > 0.1%`, `rate < 500/s`. Repeatable.",
    ),
]
HistogramOption = Annotated[
    bool,
    typer.Option("--histogram", help="Show the latency distribution and every percentile."),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadOutputs:
    """What was asked to be shown, written and judged."""

    json: str | None = None
    """A file, or `-` for stdout instead of the text; the same for each of the next four."""
    csv: str | None = None
    hgrm: str | None = None
    hlog: str | None = None
    prometheus: str | None = None
    html: str | None = None
    """A file."""
    force: bool = False
    """Whether files that httpdyno did not write are overwritten."""
    fail_if: Sequence[str] | None = None
    histogram: bool = False
    verbose: bool = False

    def check(self) -> None:
        """Refuse what could not be written or judged, before any load is sent.

        Raises:
            UsageError: With the option, what it was given, and what it takes.
        """
        for option, to in self._files():
            if to == STDOUT and option == "--html":
                raise UsageError(
                    "`--html` writes a file, not stdout", hint="such as `--html load.html`"
                )
        if self.json is not None and self.json.lstrip().startswith(("{", "[")):
            raise UsageError(
                "`--json` names the file that the result is written to, not a body",
                hint="a JSON body is `--data TEXT -H 'Content-Type: application/json'`",
            )
        check_files(self._files(), is_forced=self.force)
        on_stdout = [option for option, to in self._files() if to == STDOUT]
        if len(on_stdout) > 1:
            raise UsageError(
                f"`{on_stdout[0]} -` and `{on_stdout[1]} -` cannot both have stdout",
                hint="give one of them a file",
            )
        for text in self.fail_if or ():
            parsed(text)

    def write(self, outcome: LoadOutcome) -> int:
        """Show the outcome and write what was asked for; return the exit code.

        1 says that the answer is no: a threshold was broken, or too few requests were answered.

        Raises:
            UsageError: A file cannot be written after all.
        """
        # Credentials are in headers, and the reports are for others to read.
        outcome = load_without_values(outcome)
        # What is shown must not be lost to a disk that is full, nor the files to a terminal that is
        # gone.
        try:
            self._show(outcome)
        finally:
            for option, to in self._files():
                if to != STDOUT:
                    write_text(Path(to), _written_as(option, outcome), is_forced=self.force)
        return 0 if is_good_enough(outcome) else 1

    def _show(self, outcome: LoadOutcome) -> None:
        on_stdout = [option for option, to in self._files() if to == STDOUT]
        if not on_stdout:
            text = load_text(outcome, has_histogram=self.histogram, is_verbose=self.verbose)
            results().print(text)
            return
        if outcome.fail_if:
            messages().print(threshold_text(outcome))
        say_raw(_written_as(on_stdout[0], outcome))

    def _files(self) -> list[tuple[str, str]]:
        """Return the options that write something, with where to."""
        given = {
            "--json": self.json,
            "--csv": self.csv,
            "--hgrm": self.hgrm,
            "--hlog": self.hlog,
            "--prometheus": self.prometheus,
            "--html": self.html,
        }
        return [(option, to) for option, to in given.items() if to is not None]


def _written_as(option: str, outcome: LoadOutcome) -> str:
    """Return a file's text. Only what makes it is imported: charts, say, take long."""
    if option == "--json":
        return json_text(load_json(outcome))
    name = option.removeprefix("--")
    module = import_module(f"httpdyno.report.load.{_WRITTEN_BY[name]}")
    return str(getattr(module, f"load_{name}")(outcome))


_WRITTEN_BY = {
    "csv": "histogram",
    "hgrm": "histogram",
    "hlog": "histogram",
    "html": "page",
    "prometheus": "prometheus",
}
"""Format → the module that makes it."""
