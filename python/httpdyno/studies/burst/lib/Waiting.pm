package Waiting;

# A request that holds its process for a tenth of a second and takes next to no processor time, as one
# does that waits for a backend.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::Directive   ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();

my $WAIT_S = 0.1;

sub handler {
    my $r = shift;
    select undef, undef, undef, $WAIT_S;
    $r->content_type('text/plain');
    $r->print("It is there.\n");
    return Apache2::Const::OK;
}

# Answers with what Apache has in force, from the tree of directives in this process.
sub settings {
    my $r    = shift;
    my $said = Apache2::Directive::conftree()->as_hash;
    $r->content_type('application/json');
    $r->print(qq({"spares": "$said->{MinSpareServers}-$said->{MaxSpareServers}"}\n));
    return Apache2::Const::OK;
}

1;
