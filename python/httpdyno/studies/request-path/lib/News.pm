package News;

# A handler at an address that is no file's, and two ways to spare Apache from looking for one.

use strict;
use warnings;

use Apache2::Access ();
use Apache2::Const -compile => qw(DECLINED OK);
use Apache2::Directive   ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Apache2::SubRequest  ();

sub handler {
    my $r = shift;
    return answer($r, 'text/plain', "no file of that name, and none needed\n");
}

# PerlTransHandler and PerlMapToStorageHandler alike: said to be done, so that it is not begun.
sub is_done {
    return shift->uri =~ m{\A/news/} ? Apache2::Const::OK : Apache2::Const::DECLINED;
}

# One JSON object: knob of the study => value, as Apache has it in this process. Where nothing is
# looked for, nothing tells what would be allowed there: so that is asked of another address.
sub settings {
    my $r    = shift;
    my %text = (
        depth           => depth_of($r->document_root),
        allow_override  => $r->lookup_uri('/elsewhere')->allow_overrides ? 'All' : 'None',
        alias_root      => told(Apache2::Directive::conftree()->lookup('Alias')),
        trans_handler   => told($r->get_handlers('PerlTransHandler')),
        storage_handler => told($r->get_handlers('PerlMapToStorageHandler')),
    );
    my $json = join ', ', map {qq("$_": "$text{$_}")} sort keys %text;
    return answer($r, 'application/json', "{$json}\n");
}

# Folders on the way that are there; of one that is missing Apache would look at fewer.
sub depth_of {
    my $root = shift;
    return -d $root ? scalar(() = $root =~ m{[^/]+}g) : "unknown: there is no $root";
}

sub told {
    my $found = shift;
    return (ref $found ? @$found : defined $found) ? 'true' : 'false';
}

sub answer {
    my ($r, $type, $text) = @_;
    $r->content_type($type);
    $r->print($text);
    return Apache2::Const::OK;
}

1;
