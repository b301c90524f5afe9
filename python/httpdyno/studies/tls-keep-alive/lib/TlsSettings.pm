package TlsSettings;

# Answers with what Apache has in force, from the tree of directives in this process.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::Directive   ();
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

sub handler {
    my $r = shift;
    my $said = Apache2::Directive::conftree()->as_hash;
    my ($cache) = split /:/, lc $said->{SSLSessionCache};
    my ($version) = $said->{SSLProtocol} =~ /\ATLSv([\d.]+)\z/;
    $r->content_type('application/json');
    my %text = (
        keep_alive    => $said->{KeepAlive},
        session_cache => $cache,
        tls_version   => $version // $said->{SSLProtocol},
    );
    $r->print('{', join(', ', map {qq("$_": "$text{$_}")} sort keys %text), "}\n");
    return Apache2::Const::OK;
}

1;
