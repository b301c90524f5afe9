package PoolSettings;

# Answers with what the page imports, as it was told to this process, and whether the parent has CGI.pm,
# as one JSON object. The latter is seen as this module is loaded, which comes last in the parent: later
# a child has more.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

my $PRELOAD = $INC{'CGI.pm'} ? 'true' : 'false';

sub handler {
    my $r = shift;
    $r->content_type('application/json');
    $r->print(qq({"import": "$ENV{STUDY_IMPORT}", "preload": "$PRELOAD"}\n));
    return Apache2::Const::OK;
}

1;
