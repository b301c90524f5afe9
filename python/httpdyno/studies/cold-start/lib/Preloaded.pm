package Preloaded;

# Answers with whether the parent compiled the page, as one JSON object. That is seen as this module
# is loaded, which comes last in the parent: later a child has more.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

my $HAS_SCRIPT = grep { /page/ } map { keys %$_ } \%ModPerl::ROOT::ModPerl::Registry::;
my $PRELOAD    = $HAS_SCRIPT ? 'true' : 'false';

sub handler {
    my $r = shift;
    $r->content_type('application/json');
    $r->print(qq({"preload": "$PRELOAD"}\n));
    return Apache2::Const::OK;
}

1;
