package Fragments;

# A request that repeats a fragment of Perl. All loops are the same text but for what is in them, so
# what the empty one costs can be taken off.

use strict;
use warnings;

use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use CGI                  ();

my $PASSES = 4_000;

our ($first, $second, $file, $cgi) = ('first', 'second', __FILE__);
our $large = 'x' x 10_000;

my %BODY = (
    'loop'              => '',
    'function'          => 'nothing(__PACKAGE__)',
    'method'            => '__PACKAGE__->nothing',
    'function-20'       => 'roots(__PACKAGE__, 20)',
    'method-20'         => '__PACKAGE__->roots(20)',
    'function-40'       => 'roots(__PACKAGE__, 40)',
    'method-40'         => '__PACKAGE__->roots(40)',
    'concatenation'     => 'my $s = $first . " and " . $second . "\n"',
    'sprintf'           => 'my $s = sprintf "%s and %s\n", $first, $second',
    'interpolation'     => 'my $s = "$first and $second\n"',
    'here-document'     => qq(my \$s = <<"END"\n\$first and \$second\nEND\n),
    'join'              => 'my $s = join "", $first, " and ", $second, "\n"',
    'by-value'          => 'length_of($large)',
    'by-reference'      => 'length_at(\$large)',
    'file-tests'        => '-e $file && -r $file && -s $file or die',
    'file-tests-cached' => '-e $file && -r _ && -s _ or die',
    'cgi-method'        => 'my $s = $cgi->param("name"); $s = $cgi->param("age")',
    'cgi-function'      => 'my $s = CGI::param("name"); $s = CGI::param("age")',
);

# Read once, in the parent.
my %SWITCH = (fragment => $ENV{FRAGMENT} // '');
my $body = $BODY{$SWITCH{fragment}} // die "no fragment '$SWITCH{fragment}'";
my $repeat = eval "sub { for my \$pass (1 .. \$_[0]) { $body } return }" or die $@;

sub handler {
    my $r = shift;
    if ($SWITCH{fragment} =~ /^cgi-/) {
        $CGI::Q = $cgi = CGI->new('name=Joe&age=40');
    }
    $repeat->($PASSES);
    $r->content_type('text/plain');
    $r->print("done\n");
    return Apache2::Const::OK;
}

sub nothing { }

sub roots {
    my ($class, $last) = @_;
    my $root;
    $root = sqrt $_ for 0 .. $last;
    return $root;
}

sub length_of { my ($text) = @_; return length $text }

sub length_at { my ($text) = @_; return length $$text }

# Answers with the switches as this process has them.
sub settings {
    my $r = shift;
    $r->content_type('application/json');
    $r->print('{', join(', ', map {qq("$_": "$SWITCH{$_}")} sort keys %SWITCH), "}\n");
    return Apache2::Const::OK;
}

1;
