package Roots;

# A request that costs a millisecond or two of processor time: square roots, and their sum.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK :mpmq);
use Apache2::MPM         ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();

my $ROUNDS = 20_000;

# By least and most spare processes and the most of all, as Apache says them of itself.
my %POOL = ('8 16 50' => 'elastic', '50 51 50' => 'alive', '8 10 10' => 'ten');

sub handler {
    my $r   = shift;
    my $sum = 0;
    $sum += sqrt $_ for 1 .. $ROUNDS;
    $r->content_type('text/plain');
    $r->print(sprintf "%13.3f\n", $sum);
    return Apache2::Const::OK;
}

# Answers with the pool that this process belongs to, as Apache has it in force.
sub settings {
    my $r    = shift;
    my $said = join ' ', map { Apache2::MPM->query($_) } Apache2::Const::MPMQ_MIN_SPARE_DAEMONS,
        Apache2::Const::MPMQ_MAX_SPARE_DAEMONS, Apache2::Const::MPMQ_MAX_DAEMONS;
    my $pool = $POOL{$said} // "spares and most $said";
    $r->content_type('application/json');
    $r->print(qq({"pool": "$pool"}\n));
    return Apache2::Const::OK;
}

1;
