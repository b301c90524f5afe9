package Work;

# A request that takes as much work as two knobs say.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

sub handler {
    my $r     = shift;
    my $sum   = 0;
    my $units = $ENV{WORK_UNITS};
    $sum += $_ * $_ % 7 for 1 .. $units;
    $r->content_type('text/plain');
    $r->print("Hello\n");
    return Apache2::Const::OK;
}

1;
