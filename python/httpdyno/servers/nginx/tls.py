"""Which keys belong to which certificates, and what else of TLS a configuration names. Pure."""

import posixpath
from collections.abc import Iterator, Mapping

from httpdyno.servers.nginx.paths import is_file
from httpdyno.servers.nginx.scope import Conf
from httpdyno.servers.nginx.tree import Directive, flat, walk
from httpdyno.servers.stack.tls_files import FileUse, KeyPair, TlsFiles

_SIDES = ("", "proxy_", "grpc_", "uwsgi_")
"""Beginnings of names: what it shows to clients, and what to backends."""
_OF_SIDES: Mapping[str, FileUse] = {
    "ssl_trusted_certificate": "authorities",
    "ssl_password_file": "password",
}
_OTHERS: Mapping[str, FileUse] = {
    **{f"{side}{name}": use for side in _SIDES for name, use in _OF_SIDES.items()},
    "ssl_client_certificate": "authorities",
    "ssl_dhparam": "groups",
    "ssl_session_ticket_key": "tickets",
    "ssl_stapling_file": "staple",
}


def tls_files(conf: Conf) -> TlsFiles:
    """Return the files by whole paths; without those whose names have variables."""
    folder = posixpath.dirname(conf.main_file)
    others = {
        posixpath.join(folder, directive.texts[0]): _OTHERS[directive.name]
        for directive in walk(conf.tree)
        if directive.name in _OTHERS and directive.args and _is_fixed(directive.texts[0])
    }
    pairs = dict.fromkeys(_pairs(conf.tree, {}, folder))
    return TlsFiles(pairs=tuple(pairs), others=others)


def _pairs(
    block: tuple[Directive, ...], outer: Mapping[str, list[str]], folder: str
) -> Iterator[KeyPair]:
    """Yield the pairs of a block and of those in it: each directive is inherited by itself."""
    own: dict[str, list[str]] = {}
    for directive in flat(block):
        if not directive.is_block and directive.args and "ssl_" in directive.name:
            own.setdefault(directive.name, []).append(directive.texts[0])
    known = {**outer, **own}
    for side in _SIDES:
        certificates = known.get(f"{side}ssl_certificate", [])
        keys = known.get(f"{side}ssl_certificate_key", [])
        passwords = [p for p in known.get(f"{side}ssl_password_file", []) if _is_fixed(p)]
        # The first key is that of the first certificate.
        for certificate, key in zip(certificates, keys, strict=False):
            if _is_fixed(certificate) and _is_fixed(key):
                yield KeyPair(
                    key=posixpath.join(folder, key),
                    certificate=posixpath.join(folder, certificate),
                    password=posixpath.join(folder, passwords[-1]) if passwords else "",
                )
    for directive in flat(block):
        if directive.is_block:
            yield from _pairs(directive.block, known, folder)


def _is_fixed(text: str) -> bool:
    return is_file(text) and "$" not in text and not text.startswith("store:")
