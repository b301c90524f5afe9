"""What is said of text that goes as it is, and of compression by hand, of Apache and nginx."""

import pytest
from tests.advice.rules.told import apache, evidence, named, nginx, said
from tests.rows import each_row

HOST = "<VirtualHost *:80>\nServerName shop.example\nDocumentRoot /srv/shop\n{}\n</VirtualHost>\n"
TEXT, VARY = "uncompressed-text", "no-vary"
REWRITTEN = (
    "RewriteEngine On\nRewriteCond %{HTTP:Accept-Encoding} gzip\nRewriteRule ^(.*)\\.css$ $1.css.gz"
)


@each_row(
    ("text", "modules", "why"),
    [
        (HOST.format(""), (), "neither mod_deflate nor mod_brotli is loaded"),
        (
            HOST.format("AddOutputFilterByType DEFLATE application/json"),
            ("deflate", "filter"),
            "deflate_module loaded, and no filter of it is set for text/html",
        ),
        # What its own file has counts only with mod_filter.
        (
            "<IfModule mod_filter.c>\nAddOutputFilterByType DEFLATE text/html\n</IfModule>\n"
            + HOST.format(""),
            ("deflate",),
            "deflate_module loaded, and no filter of it is set for text/html",
        ),
    ],
)
def test_html_that_nothing_compresses_is_a_hint(text, modules, why):
    facts = apache("\n".join(f"LoadModule {m}_module m/mod_{m}.so" for m in modules) + "\n" + text)
    assert (TEXT, "hint", "HTML is sent as it is: nothing compresses it") in said(facts)
    assert evidence(facts, TEXT).startswith(f"{why}; DocumentRoot /srv/shop in shop.example")


@each_row(
    ("text", "modules"),
    [
        (HOST.format("AddOutputFilterByType DEFLATE text/html"), ("deflate",)),
        (HOST.format("AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/*"), ("brotli",)),
        (HOST.format("<Location /a>\nSetOutputFilter DEFLATE\n</Location>"), ("deflate",)),
        (HOST.format('FilterProvider C DEFLATE "%{CONTENT_TYPE} =~ m#^text/#"'), ("deflate",)),
        (HOST.format("php_value zlib.output_compression 1"), ("php",)),
        (HOST.format("PerlSetVar CompressGzip 1"), ("perl",)),
        (HOST.format(REWRITTEN), ("rewrite",)),
        # A file that is not read, or one of `.htaccess`, may say it.
        (HOST.format("Include ${nowhere}/x.conf"), ()),
        (HOST.format("<Directory /srv>\nAllowOverride All\n</Directory>"), ()),
        # It serves nothing of its own.
        (HOST.format("ProxyPass / http://127.0.0.1:8000/"), ("proxy",)),
        ("Listen 80", ()),
    ],
)
def test_what_is_compressed_and_what_is_not_known_is_not(text, modules):
    assert named(apache(text, *modules), TEXT) == []


CHOSEN = (
    "compressed files are chosen by hand, and nothing says `Vary: Accept-Encoding` to who takes no "
    "compression"
)
DEFLATED = "AddOutputFilterByType DEFLATE text/html\n"


@each_row(
    ("text", "words"),
    [
        (REWRITTEN, CHOSEN),
        (f"{REWRITTEN}\nHeader append Vary Cookie", CHOSEN),
        (DEFLATED + "Header unset Vary", "answers are compressed, and `Vary` is taken out of them"),
        (
            DEFLATED + "SetEnv force-no-vary 1",
            "answers are compressed, and `Vary` is taken out of them",
        ),
    ],
)
def test_compression_by_hand_without_vary_is_told(text, words):
    facts = apache(text, "rewrite", "headers", "deflate", "filter")
    assert [each for each in said(facts) if each[0] == VARY] == [(VARY, "doubtful", words)]


@each_row(
    "text",
    [
        DEFLATED,
        REWRITTEN + "\nHeader merge Vary Accept-Encoding",
        REWRITTEN + '\nHeader always append Vary "Accept-Encoding"',
        "Header unset Vary",
        # mod_deflate says it in each answer of its types, mod_rewrite where its condition holds.
        DEFLATED + REWRITTEN,
        # Nothing is chosen.
        'Header set Content-Encoding gzip "expr=%{REQUEST_URI} =~ /svgz$/"',
        # mod_negotiation says it itself.
        "<Directory /srv>\nOptions MultiViews\n</Directory>\nAddEncoding x-gzip .gz",
        REWRITTEN + "\n<Directory /srv>\nAllowOverride FileInfo\n</Directory>",
        "RewriteCond %{HTTP:Accept-Language} de\nRewriteRule ^/$ /de/",
    ],
)
def test_with_vary_or_without_compression_it_is_not(text):
    facts = apache(text, "rewrite", "headers", "deflate", "filter", "negotiation")
    assert named(facts, VARY) == []


STATIC = "--with-http_gzip_static_module"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("server { listen 80; }", "`gzip` is off where nothing turns it on"),
        ("gzip off;\nserver { listen 80; }", "gzip off, /etc/nginx/nginx.conf:3"),
    ],
)
def test_nginx_without_gzip_is_a_hint(text, where):
    facts = nginx(text, STATIC)
    assert ("nginx-uncompressed", "hint", "text is sent as it is: `gzip` is off everywhere") in (
        said(facts)
    )
    assert evidence(facts, "nginx-uncompressed") == where


@each_row(
    ("text", "build"),
    [
        ("gzip on;\nserver { listen 80; }", ()),
        ("server { listen 80; location /text { gzip on; } }", ()),
        ("server { listen 80; gzip_static on; }", (STATIC,)),
        ("server { listen 80; }", ("--add-module=/src/ngx_brotli",)),
        ("brotli on;\nserver { listen 80; }", ()),
    ],
)
def test_nginx_that_compresses_somewhere_or_may_is_not(text, build):
    assert named(nginx(text, *build), "nginx-uncompressed") == []


def test_prepared_files_of_nginx_need_vary_too():
    assert named(nginx("server { listen 80; gzip_static on; }", STATIC), "nginx-no-vary") == [
        "answers are compressed and do not say `Vary: Accept-Encoding`"
    ]
