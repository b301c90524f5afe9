"""Placeholder keys and certificates in place of those that this user may not read.

Keys and certificates that the `openssl` program makes, each in a folder of its own meanwhile.

Stand-ins for files of TLS that this user may not read, so that his copy of a site comes up.

A stand-in key is of the type and size of the certificate's public key, so that a handshake costs
what it costs the server itself. Nothing of their keys is in it. What can be read has no stand-in,
but for the certificate of a key that has one: it must be of the new key.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import read_regular
from httpdyno.host.runnable import PATH, NotOursError, own_program, said_by
from httpdyno.reason import Reason, because
from httpdyno.servers.stack.adapter import FileUse, KeyPair, MemberFiles
from httpdyno.servers.stack.snapshot import Found

_DAYS = "3650"
_TIME_LIMIT_S = 60.0
_CONFIGURATION = """[req]
distinguished_name = name
x509_extensions = of_localhost
prompt = no
[name]
CN = localhost
[of_localhost]
subjectAltName = DNS:localhost
basicConstraints = CA:TRUE
"""
_CERTIFICATE = re.compile(
    rb"-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----.*?-----END \1-----",
    re.DOTALL,
)
_BITS = re.compile(r"Public[- ]Key: \((\d+) bit\)")
_CURVE = re.compile(r"ASN1 OID: (\S+)")
_EDWARDS = re.compile(r"^(ED25519|ED448) ", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class KeyKind:
    """A kind of key, as `openssl genpkey` is told of it."""

    words: str
    algorithm: str
    options: tuple[str, ...] = ()


_USUAL = KeyKind("RSA 2048", "RSA", ("rsa_keygen_bits:2048",))


class OpenSsl:
    """The program, which is looked for only where something is to be made."""

    @contextmanager
    def working(self, wanted_for: str) -> Iterator["Work"]:
        """Open a folder for one key, which is removed again.

        Args:
            wanted_for: The file that cannot be read.

        Raises:
            NotOursError: Others than this user may write the program.
            AdapterError: It is not installed, or there is no place for the folder.
        """
        try:
            program = own_program("openssl", further=PATH)
        except NotOursError:
            raise
        except AdapterError as error:
            raise AdapterError(
                f"`{wanted_for}` cannot be read by this user, and `openssl`, which would make a "
                "stand-in for it, is not installed",
                hint="install `openssl`, or run this as a user who may read that file",
            ) from error
        try:
            folder = tempfile.mkdtemp(prefix="httpdyno-key-")
        except OSError as error:
            raise AdapterError(f"no folder for a key can be made: {error.strerror}") from error
        try:
            yield Work(program, Path(folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class Work:
    """A key under way, with its certificates."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._key = folder / "key.pem"

    def kind_of(self, certificates: bytes) -> KeyKind | None:
        """Return what kind the public key of the first certificate is; None where nobody can say.

        One that this program makes no key of is none.
        """
        first = _CERTIFICATE.search(certificates)
        if first is None:
            return None
        try:
            public = self._said(["x509", "-noout", "-pubkey"], first[0])
            text = self._said(["pkey", "-pubin", "-noout", "-text"], public).decode(
                errors="replace"
            )
        except AdapterError:
            return None
        bits, curve, edwards = _BITS.search(text), _CURVE.search(text), _EDWARDS.search(text)
        if edwards is not None:
            return KeyKind(edwards[1].capitalize(), edwards[1].upper())
        if curve is not None:
            options = (f"ec_paramgen_curve:{curve[1]}", "ec_param_enc:named_curve")
            return KeyKind(f"ECDSA {curve[1]}", "EC", options)
        if bits is not None and "Modulus" in text:
            return KeyKind(f"RSA {bits[1]}", "RSA", (f"rsa_keygen_bits:{bits[1]}",))
        return None

    def new_key(self, kind: KeyKind | None) -> tuple[bytes, str]:
        """Make the key, not encrypted; return it and its kind in words.

        Args:
            kind: RSA 2048 where it is None.

        Raises:
            AdapterError: The program makes none.
        """
        wanted = kind or _USUAL
        options = [word for option in wanted.options for word in ("-pkeyopt", option)]
        command = ["genpkey", "-algorithm", wanted.algorithm, *options, "-out", str(self._key)]
        self._said(command)
        return self._key.read_bytes(), wanted.words

    def certificate_like(self, certificates: bytes) -> bytes:
        """Return a certificate of the key with another one's names, and those that come behind it.

        Args:
            certificates: One, and mostly that of its issuer; of `localhost` where it is none.

        Raises:
            AdapterError: The program makes none.
        """
        found = [match[0] for match in _CERTIFICATE.finditer(certificates)]
        first, *others = found or [b""]
        if first:
            like = ["x509", "-signkey", str(self._key), "-days", _DAYS]
            return b"".join((self._said(like, first), *(each + b"\n" for each in others)))
        file = self._folder / "localhost.cnf"
        file.write_text(_CONFIGURATION, encoding="ascii")
        ask = ["req", "-x509", "-new", "-key", str(self._key), "-days", _DAYS]
        return self._said([*ask, "-config", str(file)])

    def groups(self) -> bytes:
        """Return parameters of Diffie-Hellman, those of RFC 7919 with 2048 bits.

        Raises:
            AdapterError: The program makes none.
        """
        return self._said(
            ["genpkey", "-genparam", "-algorithm", "DH", "-pkeyopt", "group:ffdhe2048"]
        )

    def _said(self, arguments: Sequence[str], given: bytes = b"") -> bytes:
        try:
            said = said_by(
                [self._program, *arguments],
                given=given,
                timeout_s=_TIME_LIMIT_S,
                # A configuration of theirs may name engines and rules that have to do with nothing.
                environment={"PATH": PATH, "OPENSSL_CONF": os.devnull, "LC_ALL": "C"},
                folder=str(self._folder),
            )
        except AdapterError as error:
            failed = _failed(self._program, arguments, error.message)
            failed.why = error.why
            raise failed from error
        if said.exit_code != 0:
            raise _failed(self._program, arguments, "".join(said.errors.strip().splitlines()[-1:]))
        return said.output.encode()


def _failed(program: str, arguments: Sequence[str], why: str) -> AdapterError:
    return AdapterError(
        f"`{program} {arguments[0]}` makes no stand-in for a key: {why}",
        hint="run this as a user who may read the keys of the site",
    )


_LARGEST_BYTES = 1 << 20
_TICKET_BYTES = (48, 80)
"""What servers take as keys of session tickets; Apache only the first."""
_TRY_LATER = bytes((0x30, 0x03, 0x0A, 0x01, 0x03))
"""The shortest answer of an OCSP responder: it says nothing of a certificate."""
_MOST_NAMED = 3
_What = Literal["key", "pair", "authorities", "groups", "tickets", "staple"]
_TOLD: Mapping[FileUse, _What] = {
    "authorities": "authorities",
    "groups": "groups",
    "tickets": "tickets",
    "staple": "staple",
}
_OWN_GROUPS = "ffdhe2048"


@dataclass(frozen=True, kw_only=True, slots=True)
class StandIns:
    """What lies in place of what cannot be read."""

    contents: Mapping[str, bytes] = field(default_factory=dict)
    """Path of theirs → what a copy sees there."""
    caveats: tuple[Reason, ...] = ()
    """What is not theirs, and why."""

    def put_into(self, found: Found) -> Found:
        """Return a member with those of its own."""
        tls = found.files.tls
        named = {path for pair in tls.pairs for path in pair.paths} | tls.others.keys()
        own = {path: text for path, text in self.contents.items() if path in named}
        files = replace(found.files, stand_ins=own)
        survey = structs.replace(found.survey, stand_ins=tuple(own))
        return Found(member=found.member, files=files, survey=survey)


def stand_ins(named: Iterable[MemberFiles]) -> StandIns:
    """Make what is needed for all members; nothing where all can be read.

    Raises:
        AdapterError: A key is needed, and `openssl` is not installed or makes none.
    """
    tls = [files.tls for files in named]
    pairs = list(dict.fromkeys(pair for each in tls for pair in each.pairs))
    others = {path: use for each in tls for path, use in each.others.items()}
    contents: dict[str, bytes] = {}
    said: dict[tuple[_What, str], list[list[str]]] = {}
    program = OpenSsl()
    for group in _groups(pairs):
        if not (unread := _unread(group)):
            continue
        made, kind = _key_and_certificates(group, program, unread[0])
        contents |= made
        is_all = any(_is_closed(pair.certificate) for pair in group)
        said.setdefault(("pair" if is_all else "key", kind), []).append(unread)
    for path, use in others.items():
        if _is_closed(path) and path not in contents:
            contents[path] = _other(path, use, program)
            if what := _TOLD.get(use):
                kind = _OWN_GROUPS if what == "groups" else ""
                said.setdefault((what, kind), []).append([path])
    return StandIns(contents=contents, caveats=tuple(_caveats(said)))


def _groups(pairs: Sequence[KeyPair]) -> list[list[KeyPair]]:
    """Return the pairs that share files with each other, together."""
    groups: list[list[KeyPair]] = []
    for pair in pairs:
        sharing = [g for g in groups if any(pair.paths & other.paths for other in g)]
        groups = [g for g in groups if g not in sharing]
        groups.append([*(other for g in sharing for other in g), pair])
    return groups


def _unread(group: Sequence[KeyPair]) -> list[str]:
    """Return what of these pairs cannot be read, keys first; empty where they can be used."""
    keys = [pair.key for pair in group if _is_closed(pair.key)]
    certificates = [pair.certificate for pair in group if _is_closed(pair.certificate)]
    passwords = [
        pair.password
        for pair in group
        if pair.password and _is_closed(pair.password) and _is_encrypted(pair.key)
    ]
    return list(dict.fromkeys((*keys, *certificates, *passwords)))


def _key_and_certificates(
    group: Sequence[KeyPair], program: OpenSsl, wanted_for: str
) -> tuple[dict[str, bytes], str]:
    """Return the files of one new key, and what it is in words."""
    with program.working(wanted_for) as work:
        certificates = {pair.certificate: _content(pair.certificate) for pair in group}
        kinds = (work.kind_of(text) for text in certificates.values() if text)
        kind = next((kind for kind in kinds if kind is not None), None)
        key, words = work.new_key(kind)
        made = {pair.key: key for pair in group}
        for path, text in certificates.items():
            made[path] = made.get(path, b"") + work.certificate_like(text)
    return made, words if all(certificates.values()) else f"{words}, localhost"


def _other(path: str, use: FileUse, program: OpenSsl) -> bytes:
    match use:
        case "tickets":
            return os.urandom(_ticket_bytes(path))
        case "staple":
            return _TRY_LATER
        case "password":
            # The keys that it was for are not encrypted, or have a stand-in that is not.
            return b"stand-in\n"
    with program.working(path) as work:
        if use == "groups":
            return work.groups()
        work.new_key(None)
        return work.certificate_like(b"")


def _ticket_bytes(path: str) -> int:
    with suppress(OSError):
        size = Path(path).stat().st_size
        return size if size in _TICKET_BYTES else _TICKET_BYTES[0]
    return _TICKET_BYTES[0]


def _caveats(said: Mapping[tuple[_What, str], Sequence[Sequence[str]]]) -> Iterator[Reason]:
    for (what, kind), groups in said.items():
        each = list(dict.fromkeys(path for paths in groups for path in paths))
        shown = each if len(each) <= _MOST_NAMED + 1 else each[:_MOST_NAMED]
        n_more = len(each) - len(shown)
        stands = _stands_in(what, is_one=len(groups) == 1)
        if kind:
            stands = because("stack.stand_in_of_kind", what=stands, kind=kind)
        names: list[str | Reason] = [*shown]
        if n_more:
            names.append(because("stack.more", n=n_more))
        yield because("stack.cannot_be_read", what=stands, names=names)


def _stands_in(what: _What, *, is_one: bool) -> Reason:
    match what:
        case "key":
            return because("stack.key_stands_in" if is_one else "stack.keys_stand_in")
        case "pair":
            return because("stack.pair_stands_in" if is_one else "stack.pairs_stand_in")
        case "authorities":
            return because("stack.authorities_stand_in")
        case "groups":
            return because("stack.groups_stand_in")
        case "tickets":
            return because("stack.tickets_stand_in")
        case "staple":
            return because("stack.staple_stands_in")


def _is_closed(path: str) -> bool:
    """Whether a file is there, as far as can be told, and this user may not read it."""
    try:
        Path(path).stat()
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return not os.access(path, os.R_OK)


def _is_encrypted(path: str) -> bool:
    return b"ENCRYPTED" in _content(path)


def _content(path: str) -> bytes:
    """Return a file's content; empty where it cannot be read."""
    try:
        return read_regular(path, limit_bytes=_LARGEST_BYTES)
    except (OSError, ValueError):
        return b""
