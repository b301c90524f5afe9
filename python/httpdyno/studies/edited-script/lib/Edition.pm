package Edition;

# Answers with how the script is mounted, and what follows its edit, as one JSON object: knob of the
# study => value. Apache is asked by a lookup of the page in this process.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Apache2::SubRequest  ();
use B                    ();

# Read once, in the parent: the word that edit.sh will read.
my $RESTART = word_of("$ENV{STUDY_RUN}/restart");

sub settings {
    my $r     = shift;
    my $mount = mount_of($r->lookup_uri('/page'));
    $r->content_type('application/json');
    $r->print(qq({"mount": "$mount", "restart": "$RESTART"}\n));
    return Apache2::Const::OK;
}

sub mount_of {
    my $page = shift;
    return 'cgi' if $page->handler eq 'cgi-script';
    my ($code) = @{ $page->get_handlers('PerlResponseHandler') || [] };
    my $name = $code && ref $code ? B::svref_2object($code)->GV->STASH->NAME : $code // 'nothing';
    return lc $name =~ s/\AModPerl:://r =~ s/::handler\z//r;
}

sub word_of {
    my $path = shift;
    open my $file, '<', $path or die "$path: $!\n";
    chomp(my $word = <$file>);
    return $word;
}

1;
