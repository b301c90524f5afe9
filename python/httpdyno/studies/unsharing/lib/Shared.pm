package Shared;

# Twenty megabytes that the parent loads, and a page that uses fifty strings of them and may keep
# something of each request for good.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

my $STRINGS = 5_000;
my $BYTES   = 4_096;
my $EACH    = 50;

my $TOUCH = $ENV{STUDY_TOUCH} // '';
my %USE   = (
    write  => sub { substr $_[0], 0, 1, '2' },
    number => sub { no warnings 'numeric'; my $sum = $_[0] + 1; return $sum },
    read   => sub { return length $_[0] },
);
my $use = $USE{$TOUCH} or die "STUDY_TOUCH is `$TOUCH`: no such use\n";

my ($LEAK_KB) = ($ENV{STUDY_LEAK_KB} // '') =~ /\A(\d+)\z/ or die "STUDY_LEAK_KB is no number\n";
our @leaked;

our @strings = map { '1' . 'x' x ($BYTES - 1) } 1 .. $STRINGS;

sub handler {
    my $r = shift;
    $use->($strings[rand $STRINGS]) for 1 .. $EACH;
    push @leaked, 'x' x (1024 * $LEAK_KB) if $LEAK_KB;
    $r->content_type('text/plain');
    $r->print("ok\n");
    return Apache2::Const::OK;
}

sub settings {
    my $r = shift;
    $r->content_type('application/json');
    $r->print(qq({"touch": "$TOUCH", "leak_kb": "$LEAK_KB"}\n));
    return Apache2::Const::OK;
}

1;
