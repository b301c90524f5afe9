package Held;

# A request that holds its process for a twentieth of a second and takes next to no processor time, as
# one does that waits for a backend.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

my $WAIT_S = 0.05;

sub handler {
    my $r = shift;
    select undef, undef, undef, $WAIT_S;
    $r->content_type('text/plain');
    $r->print("It is there.\n");
    return Apache2::Const::OK;
}

1;
