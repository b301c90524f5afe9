package Rows;

# ROWS_NUMBER rows of 36 bytes, printed as ROWS_OUTPUT says: with Perl's print() where that reaches
# the client, which is under perl-script, else with the request's own.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use Apache2::SubRequest ();

my ($NUMBER) = ($ENV{ROWS_NUMBER} // '') =~ /\A([1-9]\d*)\z/ or die "ROWS_NUMBER is no number\n";

my @ROWS = map { sprintf "<li>%05d: %s</li>\n", $_, 'x' x 19 } 1 .. $NUMBER;

# Each way twice, with nothing between a row and what prints it.
my %BY_PERL = (
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
    list     => sub { print @ROWS },
    once     => sub { print join '', @ROWS },
);
my %BY_REQUEST = (
    each_row_flushed => sub {
        my $r = shift;
        for my $row (@ROWS) {
            $r->print($row);
            $r->rflush;
        }
    },
    each_row_autoflush => sub {
        my $r = shift;
        local $| = 1;
        $r->print($_) for @ROWS;
    },
    each_row => sub {
        my $r = shift;
        $r->print($_) for @ROWS;
    },
    list => sub { $_[0]->print(@ROWS) },
    once => sub { $_[0]->print(join '', @ROWS) },
);
my $OUTPUT     = $ENV{ROWS_OUTPUT} // '';
my $by_perl    = $BY_PERL{$OUTPUT} or die "ROWS_OUTPUT is `$OUTPUT`: no such way\n";
my $by_request = $BY_REQUEST{$OUTPUT};

sub handler {
    my $r = shift;
    $r->content_type('text/html');
    $r->handler eq 'modperl' ? $by_request->($r) : $by_perl->($r);
    return Apache2::Const::OK;
}

# One JSON object: knob of the study => value, as this process has it.
sub settings {
    my $r     = shift;
    my $mount = $r->lookup_uri('/rows')->handler;
    $r->content_type('application/json');
    $r->print(qq({"output": "$OUTPUT", "mount": "$mount"}\n));
    return Apache2::Const::OK;
}

1;
