package Forking;

# A page that starts a program, in one of several ways, and answers when that has ended.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use Apache2::SubProcess ();
use POSIX               ();

my $PROGRAM = '/bin/true';

my %WAY = (
    none   => sub { },
    fork   => sub { child(sub { }) },
    system => sub { system($PROGRAM) == 0 or die "$PROGRAM: $?" },
    shell  => sub { my $output = `$PROGRAM 2>&1; echo \$?`; $output eq "0\n" or die "shell: $output" },
    spawn  => sub { my ($in, $out) = $_[0]->spawn_proc_prog($PROGRAM); my $all = join '', <$out> },
    # As the book says for long work: a grandchild that belongs to nobody, in a session of its own.
    detach => sub { child(sub { POSIX::setsid(); fork // die "cannot fork: $!" }) },
);

# Read once, in the parent.
my %SWITCH = (how => $ENV{FORK_HOW} // '', ballast => $ENV{FORK_BALLAST} // 0);
my $way = $WAY{$SWITCH{how}} or die "no way to start a program: '$SWITCH{how}'";

# What a server has loaded: memory that is there, in many pieces.
my $PIECE   = 4_000;
my @ballast = map { 'x' x $PIECE } 1 .. $SWITCH{ballast} * 1_000_000 / $PIECE;

sub handler {
    my $r = shift;
    $way->($r);
    $r->content_type('text/plain');
    $r->print("done\n");
    return Apache2::Const::OK;
}

# Runs something in a child and waits for it. It ends without Perl's or Apache's own end.
sub child {
    my $work = shift;
    my $pid  = fork // die "cannot fork: $!";
    if (!$pid) {
        $work->();
        POSIX::_exit(0);
    }
    waitpid $pid, 0;
    return;
}

# Answers with the switches as this process has them.
sub settings {
    my $r = shift;
    $SWITCH{ballast} = int(@ballast * $PIECE / 1_000_000);
    $r->content_type('application/json');
    $r->print('{', join(', ', map {qq("$_": "$SWITCH{$_}")} sort keys %SWITCH), "}\n");
    return Apache2::Const::OK;
}

1;
