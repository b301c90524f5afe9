package Backend;

# A request that waits for a backend and computes next to nothing. The backend has some tokens; who
# holds one is served, for 20 ms, and the others wait their turn. Tokens are bytes in a pipe that the
# parent made: who reads one has it, and writes it back.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

my $SERVED_S = 0.02;

# Read once, in the parent.
my %SWITCH = (tokens => $ENV{BACKEND_TOKENS} // die 'BACKEND_TOKENS is not set');

pipe my $free, my $given_back or die "no pipe for the tokens: $!";
give_back($SWITCH{tokens});

sub handler {
    my $r = shift;
    sysread $free, my $token, 1 or die "no token: $!";
    select undef, undef, undef, $SERVED_S;
    give_back(1);
    $r->content_type('text/plain');
    $r->print("served\n");
    return Apache2::Const::OK;
}

sub give_back {
    my $n = shift;
    syswrite $given_back, 'x' x $n or die "a token was not given back: $!";
    return;
}

# Answers with the switches as this process has them.
sub settings {
    my $r = shift;
    $r->content_type('application/json');
    $r->print('{', join(', ', map {qq("$_": "$SWITCH{$_}")} sort keys %SWITCH), "}\n");
    return Apache2::Const::OK;
}

1;
