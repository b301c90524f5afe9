#!/usr/bin/perl
use strict;
use warnings;

# A line of the list is a name and a price.
open my $list, '<', "$ENV{STUDY_RUN}/site/items.txt" or die "items.txt: $!\n";
print "Content-Type: text/plain\n\n";
while (my $line = <$list>) {
    chomp $line;
    my ($name, $price) = split /\t/, $line;
    print "$name costs $price\n";
}
