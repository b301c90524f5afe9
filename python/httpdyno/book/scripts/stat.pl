# perl stat.pl LOOPS CALLS: what a call of stat() takes beside programs that only loop.
use strict; use warnings;
use Time::HiRes qw(time sleep clock_gettime CLOCK_PROCESS_CPUTIME_ID);
use POSIX qw(:sys_wait_h);
my ($loops, $n) = @ARGV;
my ($parent, @pids) = ($$);
for (1 .. $loops) {
    my $pid = fork;
    die "no fork: $!" unless defined $pid;
    if ($pid) { push @pids, $pid; next }
    # Nobody else would end it where this one was killed.
    while (getppid == $parent) { 1 for 1 .. 100_000 }
    POSIX::_exit(0);
}
# The first slices are those of programs that begin.
sleep 0.05;
my $used = clock_gettime(CLOCK_PROCESS_CPUTIME_ID);
my $began = time;
stat('/foo') for 1 .. $n;
my $passed = time - $began;
$used = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $used;
my $ended = grep { waitpid($_, WNOHANG) } @pids;
kill 'KILL', @pids;
waitpid $_, 0 for @pids;
die "a busy loop ended before the calls beside it\n" if $ended;
printf '{"wall_s": %.12f, "cpu_s": %.12f}', $passed / $n, $used / $n;
