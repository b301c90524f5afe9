package Job;

# A page that has a job of 20 ms to be done, as one that sends mail has, in one of several ways.

use strict;
use warnings;

use APR::Pool           ();
use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use Apache2::Response   ();
use POSIX               ();

my $SECONDS = 0.02;
my $PAGE    = "done\n";
# What a process may have open: the client's connection and the listening socket are among them.
my $MOST_FILES = 64;

my %WAY = (
    inside => sub { work() },
    # When the answer is on its way, by the same process.
    cleanup => sub { $_[0]->pool->cleanup_register(\&work) },
    # A child that nobody waits for.
    forgotten => sub { child(sub { work() }) },
    # As the book says: a grandchild that belongs to nobody, in a session of its own.
    detached => sub {
        my $pid = child(sub {
            POSIX::setsid();
            my $grandchild = fork;
            work() if defined $grandchild && !$grandchild;
        });
        waitpid $pid, 0;
    },
);

# Read once, in the parent.
my $WAY = $ENV{STUDY_JOB} // '';
my $way = $WAY{$WAY} or die "STUDY_JOB is `$WAY`: no such way\n";

sub handler {
    my $r = shift;
    $way->($r);
    $r->content_type('text/plain');
    # Its client need not wait for the end of the connection.
    $r->set_content_length(length $PAGE);
    $r->print($PAGE);
    return Apache2::Const::OK;
}

sub work {
    select undef, undef, undef, $SECONDS;
    return Apache2::Const::OK;
}

# Runs something in a child, which has none of the server's connections and ends without Perl's or Apache's
# own end; returns its number.
sub child {
    my $work = shift;
    my $pid  = fork // die "cannot fork: $!";
    if (!$pid) {
        POSIX::close($_) for 3 .. $MOST_FILES;
        $work->();
        POSIX::_exit(0);
    }
    return $pid;
}

# Answers with the switch as this process has it.
sub settings {
    my $r = shift;
    $r->content_type('application/json');
    $r->print(qq({"job": "$WAY"}\n));
    return Apache2::Const::OK;
}

1;
