# perl lwp.pl URL AGENTS REQUESTS: a client of LWP that forks its agents, and its requests/s.
use strict; use warnings; use LWP::UserAgent; use LWP::Protocol::http; use Time::HiRes qw(time);
my ($url, $agents, $n) = @ARGV;
my ($began, $bad, @pids) = (time, 0);
for (1 .. $agents) {
    my $pid = fork;
    die "no fork: $!" unless defined $pid;
    push(@pids, $pid), next if $pid;
    my ($ua, $wrong) = (LWP::UserAgent->new(timeout => 10), 0);
    for (1 .. $n / $agents) { $wrong++ unless $ua->get($url)->is_success }
    exit($wrong ? 1 : 0);
}
for (@pids) { waitpid($_, 0); $bad++ if $? }
die "$bad of $agents agents got a wrong answer\n" if $bad;
printf '{"requests_per_s": %.6f}', $n / (time - $began);
