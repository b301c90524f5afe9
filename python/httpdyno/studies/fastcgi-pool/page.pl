# A FastCGI program: one request after the other, each some milliseconds of processor time.

use strict;
use warnings;

use FCGI ();

my $ROUNDS = 50_000;
my $BYTES  = 1_011;

my $request = FCGI::Request();
while ($request->Accept >= 0) {
    my $sum = 0;
    $sum += sqrt $_ for 1 .. $ROUNDS;
    my $head = sprintf "The sum of square roots is %.3f.\n", $sum;
    print "Content-Type: text/plain\r\nContent-Length: $BYTES\r\n\r\n";
    print $head, '.' x ($BYTES - length $head);
}
