"""A handler at a place that no file stands for, as the book has it, and what shortens its way."""

from pathlib import Path

MODULES = Path("/usr/lib/apache2/modules")
URL_PATH = "/news/perl/mod_perl/summary"
WAYS = {
    "AllowOverride All": "",
    "AllowOverride None": "",
    "None + Alias /news/ /": "Alias /news/ /\n",
    "None + PerlTransHandler": "PerlTransHandler News::found\n",
    "None + PerlMapToStorageHandler": "PerlMapToStorageHandler News::found\n",
}
"""What is tried → lines of the configuration, besides `AllowOverride`."""


def walked_site(folder: Path, port: int, way: str, *, handler: str = "perl-script") -> list[str]:
    """Write the site below a folder; return the command that runs it in the foreground.

    Args:
        folder: Everybody may look into it; its `docs` is the document root.
        port: Of 127.0.0.1.
        way: One of `WAYS`.
        handler: `perl-script`, which sets up an environment as for CGI, or `modperl`.
    """
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "lib").mkdir(exist_ok=True)
    (folder / "lib/News.pm").write_text(_HANDLER)
    for path in (folder, folder / "docs", folder / "lib"):
        path.chmod(0o755)
    text = _SITE.format(
        folder=folder,
        port=port,
        loads="".join(
            f"LoadModule {name}_module {MODULES}/mod_{name}.so\n"
            for name in ("mpm_prefork", "authz_core", "alias", "dir", "mime", "perl")
        ),
        override="All" if way == "AllowOverride All" else "None",
        lines=WAYS[way],
        handler=handler,
    )
    (folder / "apache.conf").write_text(text)
    return ["apache2", "-f", str(folder / "apache.conf"), "-DFOREGROUND"]


_HANDLER = """package News;
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::Const -compile => qw(OK DECLINED);
sub handler {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print("news\\n");
    return Apache2::Const::OK;
}
sub found {
    my $r = shift;
    return $r->uri =~ m{^/news/} ? Apache2::Const::OK : Apache2::Const::DECLINED;
}
1;
"""
_SITE = """ServerRoot {folder}
ServerName news.example
PidFile {folder}/pid
DefaultRuntimeDir {folder}
Mutex posixsem
ErrorLog {folder}/error.log
{loads}Listen 127.0.0.1:{port}
User nobody
Group nogroup
StartServers 2
MinSpareServers 2
MaxSpareServers 3
MaxRequestWorkers 2
TypesConfig /etc/mime.types
DocumentRoot {folder}/docs
PerlSwitches -I{folder}/lib
PerlModule News
<Directory />
  Options FollowSymLinks
  AllowOverride {override}
</Directory>
{lines}<Location /news>
  SetHandler {handler}
  PerlResponseHandler News
</Location>
"""
