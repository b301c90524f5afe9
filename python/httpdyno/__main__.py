"""`python -m httpdyno` is the `httpdyno` command."""

from httpdyno.cli.app import main

if __name__ == "__main__":
    main()
