use strict;
use warnings;

use CGI      ();
use DBI      ();
use Encode   ();
use JSON::PP ();
use Storable ();

# A little of each module: what is compiled is the same, however much a page does with it.
my $page  = CGI->new;
my %order = (
    name   => $page->escapeHTML(scalar $page->param('name')),
    text   => Encode::decode('UTF-8', "caf\xC3\xA9"),
    values => DBI::neat_list([ 1, 'two', undef ]),
);
my $copy = Storable::dclone(\%order);
my $text = JSON::PP->new->canonical->ascii->encode($copy);
print "Content-Type: application/json\n\n$text\n";
