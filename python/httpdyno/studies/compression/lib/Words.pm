package Words;

# A page of 50,000 bytes of words. They are drawn at random from a fixed seed: text that repeats
# itself would shrink as no text does. It is coded once, at level 9, when the server begins; who asks
# for it coded is told which headers matter, and so is who does not.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::Directive   ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use APR::Table           ();
use IO::Compress::Gzip   qw($GzipError);

my $BYTES = 50_000;
my $TEXT  = text($BYTES);
my $CODED = coded($TEXT);

sub handler {
    my $r = shift;
    $r->content_type('text/plain');
    my $body = \$TEXT;
    if (($r->dir_config('Precompressed') // '') eq 'On') {
        $r->headers_out->set(Vary => 'Accept-Encoding');
        if (($r->headers_in->get('Accept-Encoding') // '') =~ /\bgzip\b/) {
            $r->headers_out->set('Content-Encoding' => 'gzip');
            $body = \$CODED;
        }
    }
    $r->print($$body);
    return Apache2::Const::OK;
}

sub coded {
    my $text = shift;
    IO::Compress::Gzip::gzip(\$text => \my $coded, -Level => 9, Minimal => 1) or die $GzipError;
    return $coded;
}

# Two thousand words of two to ten letters, of which the first ones come most often.
sub text {
    my $n_bytes = shift;
    srand 1;
    my @words = map { join '', map { ('a' .. 'z')[rand() ** 1.5 * 26] } 1 .. 2 + rand 9 } 1 .. 2_000;
    my $text = '';
    $text .= $words[rand() ** 3 * @words] . (rand() < 0.1 ? ".\n" : ' ') while length $text < $n_bytes;
    srand;
    return substr $text, 0, $n_bytes;
}

# Answers with what Apache has in force, from the tree of directives in this process.
sub settings {
    my $r      = shift;
    my $said   = Apache2::Directive::conftree()->as_hash;
    my $filter = $said->{AddOutputFilterByType} // '';
    my $page   = $said->{Location}{'"/page"'} // $said->{Location}{'/page'} // {};
    my $coding =
          ($page->{PerlSetVar} // '') =~ /Precompressed On/ ? 'precompressed'
        : $filter =~ /DEFLATE/ ? "deflate-$said->{DeflateCompressionLevel}"
        : $filter =~ /BROTLI/  ? "brotli-$said->{BrotliCompressionQuality}"
        :                        'off';
    $r->content_type('application/json');
    $r->print(qq({"coding": "$coding"}\n));
    return Apache2::Const::OK;
}

1;
