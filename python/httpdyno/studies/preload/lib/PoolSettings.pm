package PoolSettings;

# Answers with what the running pool has, as one JSON object: knob of the study => value. What is
# loaded is seen as this module is, which comes last in the parent: later a child has more.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

my $HAS_MODULES = $INC{'Storable.pm'} && $INC{'Data/Dumper.pm'} && $INC{'CGI.pm'};
my $HAS_SCRIPT  = grep { /page/ } map { keys %$_ } \%ModPerl::ROOT::ModPerl::Registry::;
my $PRELOAD     = $HAS_SCRIPT ? 'script' : $HAS_MODULES ? 'modules' : 'none';

sub handler {
    my $r = shift;
    $r->content_type('application/json');
    $r->print(qq({"preload": "$PRELOAD", "script": "$ENV{STUDY_SCRIPT}"}\n));
    return Apache2::Const::OK;
}

1;
