package Page;

# A page of 1,011 bytes that takes some hundred microseconds of processor time.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use Apache2::Response   ();

my $ROUNDS = 5_000;
my $BYTES  = 1_011;

sub handler {
    my $r   = shift;
    my $sum = 0;
    $sum += sqrt $_ for 1 .. $ROUNDS;
    my $head = sprintf "The sum of square roots is %.3f.\n", $sum;
    $r->content_type('text/plain');
    $r->set_content_length($BYTES);
    $r->print($head, '.' x ($BYTES - length $head));
    return Apache2::Const::OK;
}

1;
