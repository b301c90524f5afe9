package Backend;

# A page that needs one row of a database, which takes 20 ms over it: all who ask at the same time, or one
# after the other, because each locks a table meanwhile. Apache::DBI keeps a connection for each process.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use DBI                 ();

my $SOURCE = "dbi:Pg:dbname=postgres;host=127.0.0.1;port=$ENV{DATABASE_PORT}";
my $QUERY  = 'SELECT name, price FROM item, pg_sleep(0.02) WHERE id = 437';
my %LOCK   = (sleep => undef, lock => 'LOCK TABLE turn IN EXCLUSIVE MODE');

# Read once, in the parent.
my $WAIT = $ENV{DATABASE_WAIT} // '';
exists $LOCK{$WAIT} or die "DATABASE_WAIT is `$WAIT`: no such way\n";

sub handler {
    my $r        = shift;
    my $database = DBI->connect($SOURCE, 'page', '', { RaiseError => 1, PrintError => 0 });
    $database->begin_work;
    $database->do($LOCK{$WAIT}) if $LOCK{$WAIT};
    my ($name, $price) = $database->selectrow_array($QUERY);
    $database->commit;
    $r->content_type('text/plain');
    $r->print("$name costs $price\n");
    return Apache2::Const::OK;
}

# Answers with the switch as this process has it.
sub settings {
    my $r = shift;
    $r->content_type('application/json');
    $r->print(qq({"wait": "$WAIT"}\n));
    return Apache2::Const::OK;
}

1;
