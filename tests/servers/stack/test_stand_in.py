import subprocess
from types import SimpleNamespace

import pytest

from httpdyno.errors import AdapterError
from httpdyno.model import Member, Survey
from httpdyno.report.shared.message import texts
from httpdyno.servers.stack import stand_in
from httpdyno.servers.stack.adapter import KeyPair, MemberFiles, TlsFiles
from httpdyno.servers.stack.snapshot import Found
from httpdyno.servers.stack.stand_in import stand_ins

pytestmark = pytest.mark.real_server("openssl")

EC = ("EC", "ec_paramgen_curve:secp384r1", "ec_param_enc:named_curve")
KINDS = {
    "RSA 3072": (("RSA", "rsa_keygen_bits:3072"), "Public-Key: (3072 bit)"),
    "ECDSA secp384r1": (EC, "ASN1 OID: secp384r1"),
    "Ed25519": (("ED25519",), "ED25519 Public-Key"),
}


def openssl(*arguments, given=b""):
    said = subprocess.run(["openssl", *arguments], input=given, capture_output=True, check=True)
    return said.stdout


def public_key(certificate):
    return openssl("x509", "-noout", "-pubkey", given=certificate)


def fits(key, certificate):
    return openssl("pkey", "-pubout", given=key) == public_key(certificate)


@pytest.fixture
def tls(own_folders, monkeypatch):
    """A folder of keys and certificates, and files that cannot be read."""
    folder = own_folders / "tls"
    closed: set[str] = set()
    folder.mkdir()
    monkeypatch.setattr(stand_in, "_is_closed", closed.__contains__)
    real = stand_in._content
    monkeypatch.setattr(stand_in, "_content", lambda path: b"" if path in closed else real(path))

    def made(name, kind="Ed25519", *, is_closed=True):
        algorithm, *options = KINDS[kind][0]
        given = [word for option in options for word in ("-pkeyopt", option)]
        key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
        openssl("genpkey", "-algorithm", algorithm, *given, "-out", str(key))
        names = f"subjectAltName=DNS:{name}.example,DNS:www.{name}.example"
        subject = ("-subj", f"/O=Shop/CN={name}.example", "-addext", names)
        openssl("req", "-x509", "-new", "-key", str(key), *subject, "-out", str(certificate))
        closed.update([str(key)] if is_closed else [])
        return KeyPair(key=str(key), certificate=str(certificate))

    return SimpleNamespace(folder=folder, closed=closed, made=made)


def asked(*pairs, **others):
    return stand_ins([MemberFiles(texts={}, tls=TlsFiles(pairs=pairs, others=others))])


@pytest.mark.parametrize("kind", KINDS)
def test_a_stand_in_is_of_the_certificates_kind_and_shows_its_names(tls, kind):
    pair = tls.made("shop", kind)
    found = asked(pair)
    key, certificate = found.contents[pair.key], found.contents[pair.certificate]
    theirs = tls.folder / "shop.crt"
    assert fits(key, certificate)
    assert key != (tls.folder / "shop.key").read_bytes()
    assert not fits(key, theirs.read_bytes())
    assert KINDS[kind][1].encode() in openssl("pkey", "-noout", "-text_pub", given=key)
    shown = ("x509", "-noout", "-subject", "-ext", "subjectAltName")
    assert openssl(*shown, given=certificate) == openssl(*shown, given=theirs.read_bytes())
    assert texts(found.caveats) == (
        f"the copy's TLS key is a stand-in ({kind}): {pair.key} cannot be read by this user",
    )


def test_what_can_be_read_has_no_stand_in(tls):
    pair = tls.made("shop", is_closed=False)
    assert asked(pair, **{f"{tls.folder}/shop.crt": "authorities"}) == stand_in.StandIns()


def test_the_certificates_behind_the_first_one_stay(tls):
    pair, issuer = tls.made("shop"), tls.made("issuer")
    certificate, behind = tls.folder / "shop.crt", (tls.folder / "issuer.crt").read_bytes()
    certificate.write_bytes(certificate.read_bytes() + behind)
    chain = asked(pair).contents[pair.certificate]
    assert chain.count(b"BEGIN CERTIFICATE") == 2
    assert chain.endswith(behind)
    assert issuer.key not in asked(pair).contents


def test_pairs_that_share_a_file_get_one_key(tls):
    shop, other, apart = tls.made("shop"), tls.made("other"), tls.made("apart", is_closed=False)
    shared = KeyPair(key=shop.key, certificate=other.certificate)
    found = asked(shop, shared, apart)
    assert found.contents.keys() == {shop.key, shop.certificate, other.certificate}
    for pair in (shop, shared):
        assert fits(found.contents[pair.key], found.contents[pair.certificate])


def test_without_its_certificate_a_key_is_the_usual_one_of_localhost(tls):
    pair = tls.made("shop")
    tls.closed.add(pair.certificate)
    both = str(tls.folder / "both.pem")
    tls.closed.add(both)
    found = asked(pair, KeyPair(key=both, certificate=both))
    assert found.contents[both].count(b"-----BEGIN") == 2
    for each in (pair, KeyPair(key=both, certificate=both)):
        certificate = found.contents[each.certificate]
        assert fits(found.contents[each.key], certificate)
        assert b"DNS:localhost" in openssl(
            "x509", "-noout", "-ext", "subjectAltName", given=certificate
        )
    assert texts(found.caveats) == (
        f"the copy's TLS keys and certificates are stand-ins (RSA 2048, localhost): {pair.key}, "
        f"{pair.certificate} and {both} cannot be read by this user",
    )


def test_a_key_whose_password_cannot_be_read_has_one_without(tls):
    plain = tls.made("plain", is_closed=False)
    locked = tls.made("locked", is_closed=False)
    key, password = tls.folder / "locked.key", tls.folder / "password"
    key.write_bytes(openssl("pkey", "-aes256", "-passout", "pass:x", given=key.read_bytes()))
    tls.closed.add(str(password))
    pairs = [
        KeyPair(key=each.key, certificate=each.certificate, password=str(password))
        for each in (plain, locked)
    ]
    found = asked(*pairs, **{str(password): "password"})
    assert found.contents.keys() == {locked.key, locked.certificate, str(password)}
    assert fits(found.contents[locked.key], found.contents[locked.certificate])
    assert len(found.caveats) == 1
    assert f"{password} cannot be read" in texts(found.caveats)[0]


def test_the_other_files_of_tls_are_what_a_server_takes(tls):
    names: dict[str, str] = {"ca": "authorities", "dh": "groups", "t": "tickets", "o": "staple"}
    (tls.folder / "t").write_bytes(b"x" * 80)
    others = {f"{tls.folder}/{name}": use for name, use in names.items()}
    tls.closed.update(others)
    found = asked(**others)
    by_name = {path.rpartition("/")[2]: text for path, text in found.contents.items()}
    assert b"CN = localhost" in openssl("x509", "-noout", "-subject", given=by_name["ca"])
    assert b"2048 bit" in openssl("pkeyparam", "-noout", "-text", given=by_name["dh"])
    assert len(by_name["t"]) == 80
    (tls.folder / "o").write_bytes(by_name["o"])
    look = ["openssl", "ocsp", "-respin", str(tls.folder / "o")]
    assert b"trylater" in subprocess.run(look, capture_output=True, check=False).stdout
    assert len(found.caveats) == 4


def test_without_openssl_it_is_said_what_is_missing(tls, monkeypatch):
    pair = tls.made("shop")
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(AdapterError, match=r"`openssl`.* is not installed") as refused:
        asked(pair)
    assert pair.key in str(refused.value)
    assert "install `openssl`" in refused.value.hint


def test_a_member_gets_what_its_configuration_names(tls):
    one, two = tls.made("one"), tls.made("two")
    made = asked(one, two)
    member = Member(name="front", kind="nginx", main="/n.conf")
    files = MemberFiles(texts={}, tls=TlsFiles(pairs=(one,)))
    put = made.put_into(Found(member=member, files=files, survey=Survey(version="")))
    assert put.files.stand_ins.keys() == one.paths
    assert set(put.survey.stand_ins) == one.paths
