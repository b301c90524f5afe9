package Form;

# A form of eight fields, read by the parser that FORM_PARSER names; the answer is how long each is.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Apache2::SubRequest  ();
use APR::Table           ();

my @NAMES = qw(name mail url subject comment lang tags submit);

# What an answer costs without any parsing: the floor under all of them.
my %KNOWN;
@KNOWN{@NAMES} = map { 'x' x $_ } 12, 15, 48, 43, 158, 2, 24, 7;

my %PARSERS = (
    nothing      => sub { \%KNOWN },
    own          => \&own,
    xs           => sub { +{ WWW::Form::UrlEncoded::XS::parse_urlencoded(sent(shift)) } },
    cgi_object   => sub { of_cgi(CGI->new(shift)) },
    cgi_function => sub {
        $CGI::Q = CGI->new(shift);
        return +{ map { $_ => scalar CGI::param($_) } @NAMES };
    },
);
my $PARSER = $ENV{FORM_PARSER} // '';
my $parsed = $PARSERS{$PARSER} or die "FORM_PARSER is `$PARSER`: no parser of that name\n";

# Only what is asked for is loaded, so that the others' memory is none of its own.
require CGI                       if $PARSER =~ /\Acgi/;
require WWW::Form::UrlEncoded::XS if $PARSER eq 'xs';

sub handler {
    my $r     = shift;
    my $value = $parsed->($r);
    my @lines = map { "$_ " . length($value->{$_} // '') . "\n" } @NAMES;
    return answer($r, 'text/plain', join '', @lines);
}

sub own {
    my %value;
    for my $pair (split /[&;]/, sent(shift)) {
        my ($name, $text) = split /=/, $pair, 2;
        for ($name, $text //= '') {
            tr/+/ /;
            s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
        }
        $value{$name} = $text;
    }
    return \%value;
}

sub of_cgi {
    my $query = shift;
    return +{ map { $_ => scalar $query->param($_) } @NAMES };
}

sub sent {
    my $r = shift;
    return $r->args // '' if $r->method ne 'POST';
    $r->read(my $body, $r->headers_in->get('Content-Length') // 0);
    return $body;
}

# One JSON object: knob of the study => value, as this process has it.
sub settings {
    my $r    = shift;
    my $form = $r->lookup_uri('/form');
    my %text = (
        parser    => $PARSER,
        mount     => $form->handler,
        setup_env => $form->is_perl_option_enabled('SetupEnv') ? 'true' : 'false',
    );
    my $json = join ', ', map {qq("$_": "$text{$_}")} sort keys %text;
    return answer($r, 'application/json', "{$json}\n");
}

sub answer {
    my ($r, $type, $text) = @_;
    $r->content_type($type);
    $r->print($text);
    return Apache2::Const::OK;
}

1;
