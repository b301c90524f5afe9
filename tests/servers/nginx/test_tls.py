from httpdyno.servers.nginx.conf import build_of, conf_of
from httpdyno.servers.nginx.endpoint import tls_files
from httpdyno.servers.stack.adapter import KeyPair

MAIN = b"""
http {
  ssl_certificate_key http.key; ssl_password_file /etc/pass; ssl_dhparam dh.pem;
  server { ssl_certificate one.crt; }
  server {
    include hosts.conf;
    location / { proxy_ssl_certificate /c.pem; proxy_ssl_certificate_key /c.pem;
      grpc_ssl_trusted_certificate ca.pem; }
  }
  server { ssl_certificate $name.crt; ssl_certificate_key /tls/$name.key; }
  server { ssl_certificate a.crt; ssl_certificate_key engine:pkcs11:a;
    ssl_certificate_key "data:key"; }
}
stream { ssl_stapling_file s.der;
  server { ssl_certificate mail.crt; ssl_certificate_key mail.key; } }
"""
HOSTS = b"""ssl_certificate rsa.crt; ssl_certificate_key rsa.key;
ssl_certificate ec.crt; ssl_certificate_key /keys/ec.key; ssl_session_ticket_key t;"""


def test_keys_are_told_with_their_certificates_wherever_each_is_set():
    texts = {"/n/nginx.conf": MAIN, "/n/hosts.conf": HOSTS}
    found = tls_files(conf_of(texts, build_of("", ())))
    assert found.pairs == (
        KeyPair(key="/n/http.key", certificate="/n/one.crt", password="/etc/pass"),
        KeyPair(key="/n/rsa.key", certificate="/n/rsa.crt", password="/etc/pass"),
        KeyPair(key="/keys/ec.key", certificate="/n/ec.crt", password="/etc/pass"),
        KeyPair(key="/c.pem", certificate="/c.pem"),
        KeyPair(key="/n/mail.key", certificate="/n/mail.crt"),
    )
    assert found.others == {
        "/etc/pass": "password",
        "/n/dh.pem": "groups",
        "/n/t": "tickets",
        "/n/ca.pem": "authorities",
        "/n/s.der": "staple",
    }
