package VisitorPage;

# A page of 1,011 bytes that takes some milliseconds, greets its visitor, and may be kept for two
# seconds.

use strict;
use warnings;

use APR::Table           ();
use Apache2::Const -compile => qw(OK);
use Apache2::Directive   ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();

my $ROUNDS = 60_000;
my $BYTES  = 1_011;
my $APART  = lc($ENV{STUDY_APART} // '');

sub handler {
    my $r = shift;
    my ($visitor) = ($r->headers_in->get('Cookie') // '') =~ /visitor=(\w+)/;
    my $sum = 0;
    $sum += sqrt $_ for 1 .. $ROUNDS;
    my $head = sprintf "For %s the sum of square roots is %.3f.\n", $visitor // 'nobody', $sum;
    $r->content_type('text/plain');
    $r->headers_out->set('Cache-Control'  => 'max-age=2');
    $r->headers_out->set('Vary'           => 'Cookie') if $APART eq 'true';
    $r->headers_out->set('Content-Length' => $BYTES);
    $r->print($head, '.' x ($BYTES - length $head));
    return Apache2::Const::OK;
}

# Answers with what Apache has in force, from the tree of directives in this process.
sub settings {
    my $r    = shift;
    my $said = Apache2::Directive::conftree()->as_hash;
    my %text = (
        cache      => ($said->{CacheEnable} // 'off') =~ s/ .*//sr,
        quick      => lc $said->{CacheQuickHandler} eq 'on' ? 'true' : 'false',
        cache_lock => lc $said->{CacheLock} eq 'on'         ? 'true' : 'false',
        apart      => $APART,
    );
    $r->content_type('application/json');
    $r->print('{', join(', ', map {qq("$_": "$text{$_}")} sort keys %text), "}\n");
    return Apache2::Const::OK;
}

1;
