package PageHandlers;

# The page as handlers, named like the scripts that answer the same; and what the server is set to.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::Directive   ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Apache2::SubRequest  ();
use B                    ();
use Page                 ();

sub plain {
    my $r = shift;
    return answer($r, 'text/html', Page::of_query($r->args));
}

sub cgi_pm {
    my $r = shift;
    return answer($r, 'text/html', Page::of_cgi(CGI->new($r)));
}

# How many variables a handler has in its environment, and which.
sub variables {
    my $r = shift;
    return answer($r, 'text/plain', join(' ', scalar keys %ENV, sort keys %ENV) . "\n");
}

sub answer {
    my ($r, $type, $text) = @_;
    $r->content_type($type);
    $r->print($text);
    return Apache2::Const::OK;
}

# One JSON object: knob of the study => value. Apache is asked, by a lookup of the page in this
# process and by the tree of its directives; no file of the configuration is read.
sub settings {
    my $r    = shift;
    my $page = $r->lookup_uri('/page');
    my %text = (
        mount     => mount_of($page),
        script    => $page->filename =~ m{(\w+)\.pl\z},
        setup_env => is_taken_away('/page') ? 'false' : 'true',
    );
    my $json = join ', ', map {qq("$_": "$text{$_}")} sort keys %text;
    return answer($r, 'application/json', "{$json}\n");
}

# Whether the environment of CGI is taken from the handler of an address, which makes it by itself
# or does not.
sub is_taken_away {
    my $path      = shift;
    my $locations = Apache2::Directive::conftree()->as_hash->{Location};
    my ($own)     = map { $locations->{$_} } grep {m{\A"?\Q$path\E"?\z}} keys %$locations;
    my $options   = $own->{PerlOptions} // [];
    return scalar grep { $_ eq '-SetupEnv' } ref $options ? @$options : $options;
}

sub mount_of {
    my $page = shift;
    return 'cgi' if $page->handler eq 'cgi-script';
    my ($code) = @{ $page->get_handlers('PerlResponseHandler') || [] };
    my $name = $code && ref $code ? B::svref_2object($code)->GV->STASH->NAME : $code // 'nothing';
    return $name =~ /\AModPerl::(\w+)/ ? lc $1 : 'handler-' . $page->handler;
}

1;
