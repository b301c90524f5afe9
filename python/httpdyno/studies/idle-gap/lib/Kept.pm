package Kept;

# One row of a database over a connection that is kept in one of several ways, or made for each request.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use DBI                 ();

my $SOURCE = "dbi:Pg:dbname=postgres;host=127.0.0.1;port=$ENV{DATABASE_PORT}";
my $QUERY  = 'SELECT name, price FROM item WHERE id = 437';

# Seconds for which Apache::DBI takes a connection that was just asked for to be alive: 0 asks it each
# time, -1 never. Without Apache::DBI there are none.
my %PING_TIMEOUT = ('ping' => 0, 'ping-10s' => 10, 'no-ping' => -1, 'own' => undef, 'none' => undef);

# Read once, in the parent.
my $WAY = $ENV{CONNECTION} // '';
exists $PING_TIMEOUT{$WAY} or die "CONNECTION is `$WAY`: no such way\n";
Apache::DBI->setPingTimeOut($SOURCE, $PING_TIMEOUT{$WAY}) if defined $PING_TIMEOUT{$WAY};

my $own;

sub handler {
    my $r        = shift;
    my $database = $own // DBI->connect($SOURCE, 'page', '', { RaiseError => 1, PrintError => 0 });
    $own = $database if $WAY eq 'own';
    my ($name, $price) = eval { $database->selectrow_array($QUERY) };
    if (my $error = $@) {
        # The next request connects anew.
        undef $own;
        die $error;
    }
    # With Apache::DBI this does nothing: the connection is kept.
    $database->disconnect if $WAY ne 'own';
    $r->content_type('text/plain');
    $r->print("$name costs $price\n");
    return Apache2::Const::OK;
}

# Answers with the switch as this process has it, and only if DBI itself says that Apache::DBI connects.
sub settings {
    my $r      = shift;
    my $is_kept = ($DBI::connect_via // '') eq 'Apache::DBI::connect';
    my $said   = $is_kept == defined $PING_TIMEOUT{$WAY} ? $WAY : 'contradicts DBI';
    $r->content_type('application/json');
    $r->print(qq({"connection": "$said"}\n));
    return Apache2::Const::OK;
}

1;
