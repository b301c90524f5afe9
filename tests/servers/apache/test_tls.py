from tests.servers.apache.sample import MEMBER, files

from httpdyno.servers.apache.reading import tls_files, walk_of
from httpdyno.servers.stack.adapter import KeyPair

MAIN = """ServerRoot /srv/a
SSLCertificateFile main.crt
SSLCertificateKeyFile main.key
SSLSessionTicketKeyFile tickets
<VirtualHost *:443>
  SSLEngine on
</VirtualHost>
<VirtualHost *:443>
  SSLCertificateFile /tls/rsa.crt
  SSLCertificateKeyFile "/tls/rsa.key"
  SSLCertificateFile /tls/ec.crt
  SSLCertificateKeyFile /tls/ec.key
  SSLCertificateChainFile /tls/chain.pem
</VirtualHost>
<VirtualHost *:443>
  SSLCertificateFile /tls/other.crt
  SSLProxyMachineCertificateFile /tls/machine.pem
</VirtualHost>
<VirtualHost *:443>
  SSLCertificateFile /tls/${NOBODY}.crt
  SSLCertificateKeyFile pkcs11:token=a
</VirtualHost>
"""


def named(text):
    walk = walk_of(MEMBER, dict(files(text).texts))
    return tls_files(walk.directives, walk.server_root)


def test_keys_are_told_with_their_certificates_also_of_the_main_server():
    found = named(MAIN)
    assert found.pairs == (
        KeyPair(key="/srv/a/main.key", certificate="/srv/a/main.crt"),
        KeyPair(key="/tls/rsa.key", certificate="/tls/rsa.crt"),
        KeyPair(key="/tls/ec.key", certificate="/tls/ec.crt"),
        # Its own first certificate, with the main server's key.
        KeyPair(key="/srv/a/main.key", certificate="/tls/other.crt"),
        KeyPair(key="/tls/machine.pem", certificate="/tls/machine.pem"),
    )
    assert found.others == {"/srv/a/tickets": "tickets", "/tls/chain.pem": "authorities"}


def test_without_a_key_of_its_own_a_certificate_has_it_in_its_file():
    found = named("SSLCertificateFile /tls/both.pem\n")
    assert found.pairs == (KeyPair(key="/tls/both.pem", certificate="/tls/both.pem"),)
