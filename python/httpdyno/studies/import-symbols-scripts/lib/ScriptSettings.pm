package ScriptSettings;

# Answers with what the pages import, as it was told to this process, whether the parent has CGI.pm, and
# how many files the ten addresses lead to, as one JSON object. What the parent has is seen as this module is
# loaded, which comes last there: later a child has more.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use Apache2::SubRequest ();

my $PAGES   = 10;
my $PRELOAD = $INC{'CGI.pm'} ? 'true' : 'false';

sub handler {
    my $r       = shift;
    my %file    = map { ($r->lookup_uri("/page-$_")->filename => 1) } 1 .. $PAGES;
    my $scripts = keys %file;
    $r->content_type('application/json');
    $r->print(qq({"import": "$ENV{STUDY_IMPORT}", "preload": "$PRELOAD", "scripts": "$scripts"}\n));
    return Apache2::Const::OK;
}

1;
