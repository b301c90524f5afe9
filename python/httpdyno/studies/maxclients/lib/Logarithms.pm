package Logarithms;

# A request that costs processor time and nothing else: a hundred logarithms, then a word.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

my $ROUNDS = 100;

sub handler {
    my $r   = shift;
    my $sum = 0;
    $sum += log $_ for 1 .. $ROUNDS;
    $r->content_type('text/plain');
    $r->print("Hello\n");
    return Apache2::Const::OK;
}

1;
