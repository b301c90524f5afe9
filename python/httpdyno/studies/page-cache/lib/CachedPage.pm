package CachedPage;

# A page of 1,011 bytes that takes a fraction of a millisecond, and that may be kept for a minute.

use strict;
use warnings;

use APR::Table           ();
use Apache2::Const -compile => qw(OK);
use Apache2::Directive   ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::ServerUtil  ();

my $ROUNDS = 3_000;
my $BYTES  = 1_011;

# Of which of a request's headers the page hangs, if of any.
my $VARY = $ENV{CACHED_VARY} // 'none';

sub handler {
    my $r   = shift;
    my $sum = 0;
    $sum += sqrt $_ for 1 .. $ROUNDS;
    my $head = sprintf "The sum of square roots is %.3f.\n", $sum;
    $r->content_type('text/plain');
    $r->headers_out->set('Cache-Control'  => 'max-age=60');
    $r->headers_out->set('Content-Length' => $BYTES);
    $r->headers_out->set('Vary'           => $VARY) if $VARY ne 'none';
    $r->print($head, '.' x ($BYTES - length $head));
    return Apache2::Const::OK;
}

# Answers with what Apache has in force, from the tree of directives in this process.
sub settings {
    my $r     = shift;
    my $said  = Apache2::Directive::conftree()->as_hash;
    my $cache = ($said->{CacheEnable} // 'off') =~ s/ .*//sr;
    my $run   = Apache2::ServerUtil::server_root();
    $cache = 'memory' if $cache eq 'disk' && $said->{CacheRoot} !~ m{\A"?\Q$run\E/};
    my %text = (
        cache        => $cache,
        tree         => "$said->{CacheDirLevels}x$said->{CacheDirLength}",
        vary         => $VARY,
        quick        => lc $said->{CacheQuickHandler} eq 'on'      ? 'true' : 'false',
        ignore_query => lc $said->{CacheIgnoreQueryString} eq 'on' ? 'true' : 'false',
    );
    $r->content_type('application/json');
    $r->print('{', join(', ', map {qq("$_": "$text{$_}")} sort keys %text), "}\n");
    return Apache2::Const::OK;
}

1;
