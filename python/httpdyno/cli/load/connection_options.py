"""How `httpdyno load` reaches the server: connections, TLS, and what of this machine is used."""

from dataclasses import dataclass
from typing import Annotated

import typer

from httpdyno.cli.option_group import whole_number


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectionOptions:
    """How connections are made, and how long they live."""

    unix: Annotated[
        str | None,
        typer.Option(
            "--unix",
            metavar="PATH",
            help="Connect to this Unix socket. The URL gives Host and path.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TlsOptions:
    """How https is spoken."""

    cacert: Annotated[
        str | None,
        typer.Option(
            "--cacert",
            metavar="FILE",
            help="Trust these CA certificates (PEM).  [default: the system's]",
            show_default=False,
        ),
    ] = None
    cert: Annotated[
        str | None,
        typer.Option(
            "--cert",
            metavar="FILE",
            help="Send this client certificate (PEM), optionally with its chain.",
        ),
    ] = None
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="FILE",
            help="Private key of the certificate (PEM).  [default: in --cert]",
            show_default=False,
        ),
    ] = None
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Do not verify the server's certificate.")
    ] = False
    sni: Annotated[
        str | None,
        typer.Option(
            "--sni",
            metavar="NAME",
            help="Server name to send and verify.  [default: the URL's host]",
            show_default=False,
        ),
    ] = None
    tls12: Annotated[bool, typer.Option("--tls1.2", help="Use TLS 1.2 only.")] = False
    tls13: Annotated[bool, typer.Option("--tls1.3", help="Use TLS 1.3 only.")] = False
    no_resumption: Annotated[
        bool, typer.Option("--no-resumption", help="Do a full handshake for each connection.")
    ] = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientOptions:
    """What of this machine is used."""

    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            parser=whole_number("--threads"),
            metavar="N",
            help="Sending threads.  [default: 1, more on big machines]",
            show_default=False,
        ),
    ] = None
    cpus: Annotated[
        str | None,
        typer.Option(
            "--cpus",
            metavar="LIST",
            help="Pin the threads to these cores, such as `2,3` or `2-5`.",
        ),
    ] = None
    spin: Annotated[
        str | None,
        typer.Option(
            "--spin",
            metavar="TIME",
            help="Poll this long before a request is due, to send it on time.  [default: 60us if "
            "a core is free]",
            show_default=False,
        ),
    ] = None
    look: Annotated[
        bool,
        typer.Option(
            "--look",
            help="Load for up to 5 s more, profile a local server and report its limit.",
        ),
    ] = False
