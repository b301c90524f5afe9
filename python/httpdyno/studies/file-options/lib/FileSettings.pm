package FileSettings;

# Answers with what Apache allows for the page of the study, as one JSON object: knob of the study
# => value. It asks Apache, by a lookup of that page in this child; it reads none of the
# configuration files.

use strict;
use warnings;

use Apache2::Access ();
use Apache2::Const -compile => qw(OK OPT_SYM_LINKS OPT_SYM_OWNER);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();
use Apache2::ServerUtil ();
use Apache2::SubRequest ();

my $PAGE = do {
    local $/;
    open my $file, '<', Apache2::ServerUtil::server_root() . '/page/index.html' or die "page: $!";
    <$file>;
};

sub handler {
    my $r       = shift;
    my $page    = $r->lookup_uri('/index.html');
    my $options = $page->allow_options;
    my %text    = (
        options => $options & Apache2::Const::OPT_SYM_LINKS ? 'FollowSymLinks'
        : $options & Apache2::Const::OPT_SYM_OWNER          ? 'SymLinksIfOwnerMatch'
        : 'None',
        allow_override => $page->allow_overrides ? 'All' : 'None',
        depth          => -e $page->filename ? $page->filename =~ tr{/}{} - 1 : 'no such file',
    );
    $r->content_type('application/json');
    $r->print('{', join(', ', map {qq("$_": "$text{$_}")} sort keys %text), "}\n");
    return Apache2::Const::OK;
}

# Sends the page in place of the file that the walk led to.
sub page {
    my $r = shift;
    $r->content_type('text/html');
    $r->print($PAGE);
    return Apache2::Const::OK;
}

1;
