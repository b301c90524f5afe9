package Before;

# Answers with what was done before the first request, as one JSON object. What is loaded is seen as
# this module is, which comes last in the parent: later a child has more.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

my $HAS_MODULES  = $INC{'CGI.pm'} && $INC{'DBD/SQLite.pm'};
my $HAS_SCRIPT   = grep { /page/ } map { keys %$_ } \%ModPerl::ROOT::ModPerl::Registry::;
my $IS_CONNECTED = ($DBI::connect_via // '') eq 'Apache::DBI::connect';
my $BEFORE =
    !$HAS_MODULES ? 'nothing' : !$HAS_SCRIPT ? 'modules' : !$IS_CONNECTED ? 'script' : 'connected';

sub handler {
    my $r = shift;
    $r->content_type('application/json');
    $r->print(qq({"before": "$BEFORE"}\n));
    return Apache2::Const::OK;
}

1;
