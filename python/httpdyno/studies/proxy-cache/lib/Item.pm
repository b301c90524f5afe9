package Item;

# One page of many: 40,000 bytes that take some milliseconds of processor time, and may be kept for an hour.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use Apache2::Response   ();
use APR::Table          ();

my $ROUNDS = 50_000;
my $BYTES  = 40_000;

sub handler {
    my $r = shift;
    my ($id) = ($r->args // '') =~ /\bid=(\d+)/;
    my $sum = 0;
    $sum += sqrt $_ for 1 .. $ROUNDS + $id;
    my $head = sprintf "Item %d: the sum of square roots is %.3f.\n", $id, $sum;
    $r->content_type('text/plain');
    $r->headers_out->set('Cache-Control' => 'max-age=3600');
    $r->set_content_length($BYTES);
    $r->print($head, '.' x ($BYTES - length $head));
    return Apache2::Const::OK;
}

1;
