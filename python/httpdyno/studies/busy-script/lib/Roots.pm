package Roots;

# A request that costs processor time and nothing else: square roots, and their sum.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

# Read once, in the parent.
my %SWITCH = (rounds => $ENV{BUSY_ROUNDS} // die 'BUSY_ROUNDS is not set');

sub handler {
    my $r   = shift;
    my $sum = 0;
    $sum += sqrt $_ for 1 .. $SWITCH{rounds};
    $r->content_type('text/plain');
    $r->print(sprintf "%13.3f\n", $sum);
    return Apache2::Const::OK;
}

# Answers with the switches as this process has them.
sub settings {
    my $r = shift;
    $r->content_type('application/json');
    $r->print('{', join(', ', map {qq("$_": "$SWITCH{$_}")} sort keys %SWITCH), "}\n");
    return Apache2::Const::OK;
}

1;
