"""Where load went, of a name that has several addresses."""

from ipaddress import ip_address

from httpdyno.model import LoadOutcome


def where_text(outcome: LoadOutcome) -> str:
    """Return where the server was looked for: its address, or all of them."""
    return " or ".join(outcome.addresses) or outcome.address


def url_text(outcome: LoadOutcome) -> str:
    """Return the URL, with the address that was taken where another one was possible."""
    others = [each for each in outcome.addresses if each != outcome.address]
    if not others or _is_usual(outcome):
        return outcome.url
    return (
        f"{outcome.url} at {outcome.address}, one of {len(outcome.addresses)} addresses "
        "and the first that takes connections"
    )


def _is_usual(outcome: LoadOutcome) -> bool:
    """Whether it is the first one, and the others are this machine too: `localhost`."""
    ips = [each.rpartition(":")[0].strip("[]").partition("%")[0] for each in outcome.addresses]
    is_here = all(ip_address(ip).is_loopback for ip in ips)
    is_one_each = len({":" in ip for ip in ips}) == len(ips)
    return outcome.address == outcome.addresses[0] and is_here and is_one_each
