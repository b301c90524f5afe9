package PoolSettings;

# Answers with what the parent loaded, as one JSON object: knob of the study => value, and what came
# with it unasked. %INC is read as this module is loaded, last in the parent: later a child has more.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

my %FILE_OF = (
    bigint   => 'Math/BigInt.pm',
    cgi      => 'CGI.pm',
    dbi      => 'DBI.pm',
    encode   => 'Encode.pm',
    json     => 'JSON/PP.pm',
    storable => 'Storable.pm',
);

# What a PerlModule line asks for is asked for by no file, but by a text that mod_perl evaluates.
my %told;
my @unasked;
for my $knob (sort keys %FILE_OF) {
    my $file    = $FILE_OF{$knob};
    my $is_here = exists $INC{$file};
    my $by      = $WhoLoads::first_asked_by{$file} // '';
    $told{$knob} = $is_here && $by =~ /\A\(eval / ? 'yes' : 'no';
    push @unasked, "$file, by " . $by =~ s{.*/}{}r if $is_here && $told{$knob} eq 'no';
}
$told{'came along'} = join('; ', @unasked) || 'none';

sub handler {
    my $r    = shift;
    my $json = join ', ', map {qq("$_": "$told{$_}")} sort keys %told;
    $r->content_type('application/json');
    $r->print("{$json}\n");
    return Apache2::Const::OK;
}

1;
