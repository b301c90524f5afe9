package Rows;

# ROWS_NUMBER rows of 36 bytes, printed as ROWS_OUTPUT says.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

my ($NUMBER) = ($ENV{ROWS_NUMBER} // '') =~ /\A([1-9]\d*)\z/ or die "ROWS_NUMBER is no number\n";

my @ROWS = map { sprintf "<li>%05d: %s</li>\n", $_, 'x' x 19 } 1 .. $NUMBER;

my %WAYS = (
    each_row_flushed => sub {
        my $r = shift;
        for my $row (@ROWS) {
            print $row;
            $r->rflush;
        }
    },
    each_row_autoflush => sub {
        local $| = 1;
        print $_ for @ROWS;
    },
    each_row => sub { print $_ for @ROWS },
    once     => sub { print join '', @ROWS },
);
my $OUTPUT = $ENV{ROWS_OUTPUT} // '';
my $output = $WAYS{$OUTPUT} or die "ROWS_OUTPUT is `$OUTPUT`: no such way\n";

sub handler {
    my $r = shift;
    $r->content_type('text/html');
    $output->($r);
    return Apache2::Const::OK;
}

# One JSON object: knob of the study => value, as this process has it.
sub settings {
    my $r = shift;
    $r->content_type('application/json');
    $r->print(qq({"output": "$OUTPUT"}\n));
    return Apache2::Const::OK;
}

1;
