package Hello;

# As little as a handler can do: what is measured is the life of the process around it.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

sub handler {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print("Hello\n");
    return Apache2::Const::OK;
}

1;
