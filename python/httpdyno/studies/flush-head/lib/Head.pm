package Head;

# A head of 1,000 bytes, a pause as of a page that waits for its database, and a hundred rows of 30 bytes.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

my $HEAD = sprintf "%-999s\n", '<html><head><title>Rows</title></head><body><h1>Rows</h1>';
my $ROWS = join '', map { sprintf "<li>%05d: %s</li>\n", $_, 'x' x 13 } 1 .. 100;

# Read once, in the parent.
my ($FLUSH) = ($ENV{HEAD_FLUSH} // '') =~ /\A(true|false)\z/
    or die "HEAD_FLUSH is neither true nor false\n";
my ($PAUSE) = ($ENV{HEAD_PAUSE_MS} // '') =~ /\A(\d+)\z/ or die "HEAD_PAUSE_MS is no number\n";

sub handler {
    my $r = shift;
    $r->content_type('text/html');
    print $HEAD;
    $r->rflush if $FLUSH eq 'true';
    select undef, undef, undef, $PAUSE / 1000 if $PAUSE;
    print $ROWS;
    return Apache2::Const::OK;
}

# One JSON object: knob of the study => value, as this process has it.
sub settings {
    my $r = shift;
    $r->content_type('application/json');
    $r->print(qq({"flush_head": "$FLUSH", "pause_ms": "$PAUSE"}\n));
    return Apache2::Const::OK;
}

1;
