#!/usr/bin/perl

# Reads lines `NAME COUNT`, calls that body so many times, and answers with a line `CPU_NS WALL_NS`.
# All loops are the same text but for what is in them, so what the empty one takes can be taken off.

use strict;
use warnings;

use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID);

our ($first, $second, $file, $cgi) = ('first', 'second', $0);
our $large = 'x' x 10_000;

my %BODY = (
    'loop'              => '',
    'function'          => 'nothing(__PACKAGE__)',
    'method'            => '__PACKAGE__->nothing',
    'function-20'       => 'roots(__PACKAGE__, 20)',
    'method-20'         => '__PACKAGE__->roots(20)',
    'function-40'       => 'roots(__PACKAGE__, 40)',
    'method-40'         => '__PACKAGE__->roots(40)',
    'concatenation'     => 'my $s = $first . " and " . $second . "\n"',
    'sprintf'           => 'my $s = sprintf "%s and %s\n", $first, $second',
    'interpolation'     => 'my $s = "$first and $second\n"',
    'here-document'     => qq(my \$s = <<"END"\n\$first and \$second\nEND\n),
    'join'              => 'my $s = join "", $first, " and ", $second, "\n"',
    'by-value'          => 'length_of($large)',
    'by-reference'      => 'length_at(\$large)',
    'file-tests'        => '-e $file && -r $file && -s $file or die',
    'file-tests-cached' => '-e $file && -r _ && -s _ or die',
    'cgi-method'        => 'my $s = $cgi->param("name"); $s = $cgi->param("age")',
    'cgi-function'      => 'my $s = CGI::param("name"); $s = CGI::param("age")',
    'stat'              => 'stat "/foo"',
);

# A body is made when it is first called, in an order that is drawn for each start.
my %made;

$| = 1;
while (my $line = <STDIN>) {
    my ($name, $count) = split ' ', $line;
    my $repeat = $made{$name} //= made($name);
    if (!$repeat) {
        print "there is no body `$name`: ", $@ || 'it has no such name', "\n";
        next;
    }
    my ($cpu, $wall) = map { clock_gettime($_) } CLOCK_PROCESS_CPUTIME_ID, CLOCK_MONOTONIC;
    $repeat->($count);
    $cpu  = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $cpu;
    $wall = clock_gettime(CLOCK_MONOTONIC) - $wall;
    printf "%.0f %.0f\n", 1e9 * $cpu, 1e9 * $wall;
}

sub made {
    my ($name) = @_;
    my $body = $BODY{$name} // return;
    if ($name =~ /^cgi-/) {
        require CGI;
        $CGI::Q = $cgi = CGI->new('name=Joe&age=40');
    }
    return eval "sub { for my \$pass (1 .. \$_[0]) { $body } return }";
}

sub nothing { }

sub roots {
    my ($class, $last) = @_;
    my $root;
    $root = sqrt $_ for 0 .. $last;
    return $root;
}

sub length_of { my ($text) = @_; return length $text }

sub length_at { my ($text) = @_; return length $$text }
