#!/bin/sh
# Make the certificates of the tests anew: an authority, a server for localhost, a client, and a
# client's certificate with the key of another. They are good for a hundred years and for nothing.
set -eu
cd "$(dirname "$0")"
new_key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt; }
new_key > authority.key
openssl req -x509 -new -key authority.key -days 36500 -out authority.pem \
  -subj '/CN=httpdyno tests' -addext 'basicConstraints=critical,CA:TRUE' \
  -addext 'keyUsage=critical,keyCertSign,cRLSign'
for name in server client; do
  new_key > "$name.key"
  openssl req -new -key "$name.key" -subj "/CN=$name" |
    openssl x509 -req -CA authority.pem -CAkey authority.key -CAcreateserial -days 36500 \
      -out "$name.pem" -extfile "$name.ext"
done
new_key > another.key
rm -f authority.key authority.srl
