package Page;

# A page of 10,000 bytes that takes some milliseconds of processor time.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::Directive   ();
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

my $ROUNDS = 20_000;
my $BYTES  = 10_000;

sub handler {
    my $r   = shift;
    my $sum = 0;
    $sum += sqrt $_ for 1 .. $ROUNDS;
    my $head = sprintf "The sum of square roots is %.3f.\n", $sum;
    $r->content_type('text/plain');
    $r->print($head, '.' x ($BYTES - length $head));
    return Apache2::Const::OK;
}

# Answers with what Apache has in force, from the tree of directives in this process.
sub settings {
    my $r    = shift;
    my $said = Apache2::Directive::conftree()->as_hash;
    my $text = lc $said->{KeepAlive} eq 'on' ? $said->{KeepAliveTimeout} : 'off';
    $r->content_type('application/json');
    $r->print(qq({"keep_alive": "$text"}\n));
    return Apache2::Const::OK;
}

1;
