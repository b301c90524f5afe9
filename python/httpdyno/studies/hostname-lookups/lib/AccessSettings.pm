package AccessSettings;

# Answers with what Apache has in force, from the tree of directives in this process.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::Directive   ();
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

sub handler {
    my $r = shift;
    my $tree = Apache2::Directive::conftree();
    my ($file) = grep { $_->{Require} && $_->{Require} =~ /\A(?:ip|host) / }
        map { ref $_ eq 'ARRAY' ? @$_ : $_ } values %{ $tree->as_hash->{Location} };
    my ($require) = split ' ', $file->{Require};
    $r->content_type('application/json');
    $r->print(qq({"require": "$require"}\n));
    return Apache2::Const::OK;
}

1;
