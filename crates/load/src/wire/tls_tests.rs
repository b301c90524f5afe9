use std::io::Write;

use super::*;
use crate::wire::tls_reason;
use crate::wire::transport_rig::{
    Authority, Client, Identity, Server, client_of, echo, server_config, tls,
};

fn refusal(change: impl FnOnce(&mut Tls)) -> String {
    let mut tls = tls(&Authority::new("one"), "localhost");
    change(&mut tls);
    let message = TlsClient::new(&tls, "arms[0].tls").unwrap_err().to_string();
    assert!(message.contains("; expected "), "{message}");
    assert!(!message.contains('\n') && !message.ends_with('.'), "{message}");
    message
}

#[test]
fn each_mistake_is_one_sentence_with_field_value_and_expectation() {
    let expect = |change: &dyn Fn(&mut Tls), start: &str| {
        let message = refusal(change);
        assert!(message.starts_with(start), "{message}");
    };
    expect(&|tls| tls.server_name = "a b".into(), "arms[0].tls.server_name is \"a b\"");
    expect(&|tls| tls.server_name.clear(), "arms[0].tls.server_name is \"\"");
    let roots = |pem: &'static [u8]| move |tls: &mut Tls| tls.roots_pem = Some(pem.to_vec());
    expect(&roots(b""), "arms[0].tls.roots_pem is 0 bytes without a certificate");
    expect(&roots(b"\x30\x82\x01"), "arms[0].tls.roots_pem is 3 bytes without a certificate");
    expect(
        &roots(b"-----BEGIN CERTIFICATE-----\nAAAA\n"),
        "arms[0].tls.roots_pem is no readable PEM (",
    );
    expect(
        &roots(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
        "arms[0].tls.roots_pem is not to be read in certificate 1 (",
    );
}

#[test]
fn a_client_certificate_and_its_key_must_belong_together() {
    let authority = Authority::new("clients");
    let (mine, other) = (authority.certify("me"), authority.certify("other"));
    let identity = |chain: &str, key: &str| {
        refusal(|tls| {
            tls.identity_pem =
                Some((chain.as_bytes().to_vec().into(), key.as_bytes().to_vec().into()));
        })
    };
    let expect = |chain: &str, key: &str, value: &str| {
        let message = identity(chain, key);
        assert!(message.starts_with(&format!("arms[0].tls.identity_pem is {value}")), "{message}");
    };
    expect(&mine.chain, &other.key, "the private key of another certificate; expected the private");
    expect("", &mine.key, "0 bytes without a certificate");
    expect(&mine.chain, "", "0 bytes without a private key");
    expect(&mine.chain, &mine.chain, &format!("{} bytes without a private key", mine.chain.len()));
    let locked =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    expect(&mine.chain, locked, "a key with a passphrase");
    let broken = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    expect(&mine.chain, broken, "a key that cannot be used (");
    let no_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    expect(no_certificate, &mine.key, "a certificate that cannot be used (");

    let mut right = tls(&authority, "localhost");
    right.identity_pem = Some((mine.chain.into_bytes().into(), mine.key.into_bytes().into()));
    TlsClient::new(&right, "tls").unwrap();
}

#[test]
fn a_name_may_be_an_address() {
    for name in ["localhost", "a.b-c.example", "127.0.0.1", "::1"] {
        TlsClient::new(&tls(&Authority::new("one"), name), "tls").unwrap();
    }
}

/// What comes of the handshake with a server that shows this certificate.
fn meet(identity: &Identity, tls: &Tls) -> io::Result<()> {
    let server = Server::tls(server_config(identity, None), 1, |stream| echo(stream, b""));
    let mut client = Client::ready(&server.endpoint(), Some(&client_of(tls)))?;
    client.link.send_close_notify();
    client.read_once().map(drop)
}

#[track_caller]
fn is_refused(met: io::Result<()>, reason: &str) {
    let error = met.unwrap_err();
    assert!(is_tls_failure(&error), "{error:?}");
    assert_eq!(tls_reason(&error).0, reason, "{error:?}");
}

#[test]
fn a_certificate_must_be_of_a_trusted_authority_and_for_the_name() {
    let (good, bad) = (Authority::new("good"), Authority::new("bad"));
    for host in ["localhost", "127.0.0.1"] {
        let identity = good.certify(host);
        meet(&identity, &tls(&good, host)).unwrap();
        is_refused(meet(&identity, &tls(&bad, host)), "unknown_issuer");
        is_refused(meet(&identity, &tls(&good, "other")), "other_name");
        let error = meet(&identity, &tls(&good, "other")).unwrap_err();
        assert_eq!(tls_reason(&error).1, host, "{error:?}");
    }
}

#[test]
fn several_authorities_may_be_trusted() {
    let (one, two) = (Authority::new("one"), Authority::new("two"));
    let mut tls = tls(&one, "localhost");
    tls.roots_pem.as_mut().unwrap().write_all(&two.pem()).unwrap();
    meet(&one.certify("localhost"), &tls).unwrap();
    meet(&two.certify("localhost"), &tls).unwrap();
}

#[test]
fn a_certificate_that_is_its_own_authority_may_be_trusted_itself() {
    let of = |identity: &Identity, name: &str| Tls {
        roots_pem: Some(identity.chain.clone().into_bytes()),
        ..tls(&Authority::new("none"), name)
    };
    let fresh = Identity::of_itself("localhost", 4000);
    meet(&fresh, &of(&fresh, "localhost")).unwrap();
    is_refused(meet(&fresh, &of(&fresh, "other")), "other_name");
    let another = Identity::of_itself("localhost", 4000);
    is_refused(meet(&another, &of(&fresh, "localhost")), "unknown_issuer");
    let expired = Identity::of_itself("localhost", 2001);
    is_refused(meet(&expired, &of(&expired, "localhost")), "expired");
}

#[test]
fn unverified_any_certificate_is_taken_for_any_name() {
    for versions in [TlsVersions::Only12, TlsVersions::Only13] {
        let mut tls = tls(&Authority::new("good"), "elsewhere.example");
        (tls.is_verified, tls.versions, tls.roots_pem) = (false, versions, None);
        meet(&Authority::new("bad").certify("localhost"), &tls).unwrap();
        meet(&Identity::of_itself("localhost", 2001), &tls).unwrap();
    }
}

#[test]
fn a_failure_of_the_connection_is_none_of_tls() {
    for kind in [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset] {
        assert!(!is_tls_failure(&kind.into()));
        assert!(!is_tls_failure(&io::Error::new(kind, "said by someone else")));
    }
    assert!(!is_tls_failure(&io::Error::from_raw_os_error(libc::ECONNRESET)));
    assert!(is_tls_failure(&tls_failure(rustls::Error::DecryptError)));
}
