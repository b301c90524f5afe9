use strict;
use warnings;

use CGI ();
use DBI ();

my $page     = CGI->new;
my $database = DBI->connect("dbi:SQLite:dbname=$ENV{ITEM_FILE}", '', '', { RaiseError => 1 });
my ($name, $price) = $database->selectrow_array('SELECT name, price FROM item WHERE id = ?',
    undef, scalar $page->param('id'));
print "Content-Type: text/plain\n\n", $page->escapeHTML($name), " costs $price\n";
