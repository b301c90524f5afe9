package Item;

# One row of a thousand by its key, over a connection and a statement of its own or kept ones.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use DBI                 ();

my $SOURCE = $ENV{ITEM_SOURCE} or die "ITEM_SOURCE names no database\n";
my $USER   = $ENV{ITEM_USER} // '';
my $QUERY  = 'SELECT name, price FROM item WHERE id = ?';

my $STATEMENT = $ENV{ITEM_STATEMENT} // '';
my %PREPARE   = (prepare => 'prepare', cached => 'prepare_cached');
my $prepare   = $PREPARE{$STATEMENT} or die "ITEM_STATEMENT is `$STATEMENT`: no such way\n";

sub handler {
    my $r = shift;
    my ($id) = ($r->args // '') =~ /\bid=(\d+)/;
    my $database  = DBI->connect($SOURCE, $USER, '', { RaiseError => 1 });
    my $statement = $database->$prepare($QUERY);
    $statement->execute($id);
    my ($name, $price) = $statement->fetchrow_array;
    $statement->finish;
    # With Apache::DBI this does nothing: the connection is kept.
    $database->disconnect;
    $r->content_type('text/plain');
    $r->print("$name costs $price\n");
    return Apache2::Const::OK;
}

# One JSON object: knob of the study => value, as this process has it: DBI itself says who connects.
sub settings {
    my $r = shift;
    my $persistent = ($DBI::connect_via // '') eq 'Apache::DBI::connect' ? 'true' : 'false';
    $r->content_type('application/json');
    $r->print(qq({"persistent": "$persistent", "statement": "$STATEMENT"}\n));
    return Apache2::Const::OK;
}

1;
