package Burn;

# A request that takes as much work as the configuration says, or as `/?n` asks for. Its answer does
# not tell how much: configurations are compared that answer alike.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

sub handler {
    my $r     = shift;
    my $sum   = 0;
    my $units = $r->args || $ENV{BURN_UNITS};
    $sum += $_ * $_ % 7 for 1 .. $units;
    $r->content_type('text/plain');
    $r->print( sprintf "%12d\n", $sum >= 0 );
    return Apache2::Const::OK;
}

1;
