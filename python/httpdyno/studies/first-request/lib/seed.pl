# Makes the database: a thousand rows whose texts are all of one length.

use strict;
use warnings;

use DBI;

my %settings = (RaiseError => 1, AutoCommit => 0);
my $database = DBI->connect("dbi:SQLite:dbname=$ARGV[0]", '', '', \%settings);
$database->do('CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price INTEGER)');
my $insert = $database->prepare('INSERT INTO item VALUES (?, ?, ?)');
$insert->execute($_, sprintf('item %04d', $_), 1000 + $_ * 7 % 1000) for 1 .. 1000;
$database->commit;
$database->disconnect;
