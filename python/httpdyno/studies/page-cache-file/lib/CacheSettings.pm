package CacheSettings;

# Answers with what Apache has in force, from the tree of directives in this process.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::Directive   ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::ServerUtil  ();

sub handler {
    my $r     = shift;
    my $said  = Apache2::Directive::conftree()->as_hash;
    my $cache = ($said->{CacheEnable} // 'off') =~ s/ .*//sr;
    my $run   = Apache2::ServerUtil::server_root();
    $cache = 'memory' if $cache eq 'disk' && $said->{CacheRoot} !~ m{\A"?\Q$run\E/};
    $r->content_type('application/json');
    $r->print(qq({"cache": "$cache"}\n));
    return Apache2::Const::OK;
}

1;
