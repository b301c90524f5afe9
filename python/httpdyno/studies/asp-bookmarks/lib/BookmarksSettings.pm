package BookmarksSettings;

# Answers with the settings that a request for the application's page is really served with, as
# one JSON object: knob of the study => value. It asks Apache, by a lookup of that very page in
# this child, and the kernel; it reads none of the configuration files.

use strict;
use warnings;

use Apache2::Access ();
use Apache2::Const -compile => qw(OK :mpmq);
use Apache2::MPM         ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Apache2::SubRequest  ();

my $PAGE = '/bookmarks/index.asp';

sub handler {
    my $r    = shift;
    my $page = $r->lookup_uri($PAGE);
    my %text = (
        state_dir              => file_system_kind($page->dir_config('StateDir')),
        htaccess               => $page->allow_overrides ? 'true' : 'false',
        debug                  => $page->dir_config('Debug'),
        session_serialize      => $page->dir_config('SessionSerialize'),
        MaxConnectionsPerChild => Apache2::MPM->query(Apache2::Const::MPMQ_MAX_REQUESTS_DAEMON),
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
