package NumberedPage;

# Pages of 1,011 bytes that take a fraction of a millisecond, say their number, and may be kept for a
# second.

use strict;
use warnings;

use APR::Table           ();
use Apache2::Const -compile => qw(OK);
use Apache2::Directive   ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();

my $ROUNDS = 3_000;
my $BYTES  = 1_011;

sub handler {
    my $r = shift;
    my ($number) = $r->uri =~ m{/(\d+)$};
    my $sum = 0;
    $sum += sqrt $_ for 1 .. $ROUNDS;
    my $head = sprintf "On page %s the sum of square roots is %.3f.\n", $number // 'none', $sum;
    $r->content_type('text/plain');
    $r->headers_out->set('Cache-Control'  => 'max-age=1');
    $r->headers_out->set('Content-Length' => $BYTES);
    $r->print($head, '.' x ($BYTES - length $head));
    return Apache2::Const::OK;
}

# Answers with what Apache has in force, from the tree of directives in this process.
sub settings {
    my $r     = shift;
    my $said  = Apache2::Directive::conftree()->as_hash;
    my $cache = ($said->{CacheEnable} // 'off') =~ s/ .*//sr;
    $r->content_type('application/json');
    $r->print(qq({"cache": "$cache"}\n));
    return Apache2::Const::OK;
}

1;
