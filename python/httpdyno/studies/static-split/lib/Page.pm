package Page;

# A page that takes some milliseconds of processor time and names twelve files.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use Apache2::Response   ();

my $ROUNDS = 50_000;
my $FILES  = join '', map { sprintf qq(<img src="/files/%02d">\n), $_ } 1 .. 12;

sub handler {
    my $r   = shift;
    my $sum = 0;
    $sum += sqrt $_ for 1 .. $ROUNDS;
    my $page = sprintf "%s<p>The sum of square roots is %.3f.</p>\n", $FILES, $sum;
    $r->content_type('text/html');
    $r->set_content_length(length $page);
    $r->print($page);
    return Apache2::Const::OK;
}

1;
