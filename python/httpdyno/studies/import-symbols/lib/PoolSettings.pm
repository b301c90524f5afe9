package PoolSettings;

# Answers with what the page imports, as it was told to this process, as one JSON object.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

sub handler {
    my $r = shift;
    $r->content_type('application/json');
    $r->print(qq({"import": "$ENV{STUDY_IMPORT}"}\n));
    return Apache2::Const::OK;
}

1;
