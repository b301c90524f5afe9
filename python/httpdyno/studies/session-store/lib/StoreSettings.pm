package StoreSettings;

# Answers with the settings that a request for the application's page is really served with, as
# one JSON object: knob of the study => value. It asks Apache, by a lookup of that very page in
# this child, the kernel, and what Apache::ASP had compiled when this process was forked.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Apache2::SubRequest  ();

my $PAGE = '/bookmarks/index.asp';
my $n_compiled;

# Compiles the pages, in the parent. What Loader is told must be what they are served with, or they
# are compiled once more.
sub preload {
    my $folder = shift;
    require DBI;
    require DBD::SQLite;
    # Apache::ASP 2.63 asks the request for its pool, as mod_perl 2 has it; the one that its Loader
    # makes up for the occasion has none. Loader ends what it began by itself.
    no warnings 'once';
    *Apache::ASP::Load::pool = sub { 'StoreSettings' };
    Apache::ASP->Loader($folder, '\.(asp|inc)$', Global => $folder, GlobalPackage => 'My::Bookmarks');
    return;
}

sub cleanup_register { }

# A PerlChildInitHandler: this process has served nothing yet.
sub remember {
    $n_compiled = keys %Apache::ASP::CompiledIncludes;
    return Apache2::Const::OK;
}

sub handler {
    my $r    = shift;
    my $page = $r->lookup_uri($PAGE);
    my %text = (
        state_dir        => file_system_kind($page->dir_config('StateDir')),
        state_db         => $page->dir_config('StateDB'),
        state_serializer => $page->dir_config('StateSerializer'),
        preload          => $n_compiled ? 'true' : 'false',
    );
    $r->content_type('application/json');
    $r->print('{', join(', ', map {qq("$_": "$text{$_}")} sort keys %text), "}\n");
    return Apache2::Const::OK;
}

# "memory" if the folder lies on a RAM-backed file system, "disk" otherwise.
sub file_system_kind {
    my $folder = shift;
    my ($kind, $longest) = ('disk', -1);
    open my $mounts, '<', '/proc/self/mounts' or die "cannot read the mount table: $!";
    while (my $line = <$mounts>) {
        my (undef, $point, $type) = split ' ', $line;
        my $inside = $point eq '/' || $folder eq $point || index($folder, "$point/") == 0;
        next if !$inside || length $point < $longest;
        $longest = length $point;
        $kind    = $type =~ /\A(?:tmpfs|ramfs)\z/ ? 'memory' : 'disk';
    }
    close $mounts;
    return $kind;
}

1;
