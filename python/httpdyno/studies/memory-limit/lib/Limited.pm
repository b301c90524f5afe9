package Limited;

# The limit, what the parent loads, and what a process has, by SizeLimit's count and the kernel's.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Apache2::SizeLimit   ();
use Apache2::SubRequest  ();
use B                    ();

our $LEAK_BYTES = 1024 * number_of('STUDY_LEAK_KB');

my $LIMIT_KB = number_of('STUDY_LIMIT_KB');
Apache2::SizeLimit->set_max_unshared_size($LIMIT_KB) if $LIMIT_KB;

our @loaded = map { 'x' x 4_096 } 1 .. 256 * number_of('STUDY_PRELOAD_MB');

sub number_of {
    my $name = shift;
    my ($number) = ($ENV{$name} // '') =~ /\A(\d+)\z/ or die "$name is no number\n";
    return $number;
}

# One JSON object: knob of the study => value, and sizes in kB. Apache and SizeLimit are asked in this
# process, and no file of the configuration is read.
sub settings {
    my $r     = shift;
    my $page  = $r->lookup_uri('/page');
    my $check = @{ $page->get_handlers('PerlCleanupHandler') || [] };
    my $limit = $check ? $Apache::SizeLimit::Core::MAX_UNSHARED_SIZE : 0;
    my (undef, undef, $counted) = Apache2::SizeLimit->_check_size;
    my $kernel = kernel_kb();
    my %text   = (
        limit_kb              => $limit,
        leak_kb               => $LEAK_BYTES / 1024,
        preload_mb            => @loaded / 256,
        mount                 => mount_of($page),
        'unshared, SizeLimit' => "$counted kB",
        'private, /proc'      => $kernel->{Private_Clean} + $kernel->{Private_Dirty} . ' kB',
    );
    my $json = join ', ', map {qq("$_": "$text{$_}")} sort keys %text;
    $r->content_type('application/json');
    $r->print("{$json}\n");
    return Apache2::Const::OK;
}

sub mount_of {
    my ($code) = @{ shift->get_handlers('PerlResponseHandler') || [] };
    my $name = $code && ref $code ? B::svref_2object($code)->GV->STASH->NAME : $code // 'nothing';
    return lc $name =~ s/\AModPerl:://r =~ s/::handler\z//r;
}

sub kernel_kb {
    open my $file, '<', '/proc/self/smaps_rollup' or die "/proc/self/smaps_rollup: $!\n";
    return { map {/\A(\w+):\s+(\d+) kB/} <$file> };
}

1;
