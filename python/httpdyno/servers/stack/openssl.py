"""Keys and certificates that the `openssl` program makes, each in a folder of its own meanwhile."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.host.runnable import PATH, NotOursError, own_program, said_by

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
            raise _failed(self._program, arguments, str(error)) from error
        if said.exit_code != 0:
            raise _failed(self._program, arguments, "".join(said.errors.strip().splitlines()[-1:]))
        return said.output.encode()


def _failed(program: str, arguments: Sequence[str], why: str) -> AdapterError:
    return AdapterError(
        f"`{program} {arguments[0]}` makes no stand-in for a key: {why}",
        hint="run this as a user who may read the keys of the site",
    )
