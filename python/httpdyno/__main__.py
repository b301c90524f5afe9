"""`python -m httpdyno`, and the `httpdyno` command: what takes a tenth of a second comes after.

So long do the modules of the command line take to load, and Ctrl-C meanwhile ends it as later.
"""

from httpdyno.host.interruption import end_at_once


def main() -> None:
    """Run the command line and end the process with its exit code."""
    end_at_once()
    from httpdyno.cli.app import main as run  # noqa: PLC0415 - first what a signal does

    run()


if __name__ == "__main__":
    main()
