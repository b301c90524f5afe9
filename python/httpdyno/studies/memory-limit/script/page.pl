use strict;
use warnings;

# A variable that nobody empties: under Registry it stays from one request to the next.
our @kept;
push @kept, 'x' x $Limited::LEAK_BYTES if $Limited::LEAK_BYTES;

# Some work, so that a page is one.
my $sum = 0;
$sum += sqrt $_ for 1 .. 5_000;

print "Content-Type: text/plain\n\npage\n";
