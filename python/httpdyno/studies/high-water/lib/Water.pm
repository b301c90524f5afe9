package Water;

# Pages that read a part of a file into memory, in one way or another; what each leaves behind.

use strict;
use warnings;

use Apache2::Const -compile => qw(NOT_FOUND OK SERVER_ERROR);
use Apache2::RequestIO  ();
use Apache2::RequestRec ();

my $MB    = 1 << 20;
my $PIECE = 64 << 10;

my %READ = (
    whole    => \&size_of_whole,
    by_value => \&size_by_value,
    changed  => \&size_changed,
    pieces   => \&size_in_pieces,
);
my $HOW  = $ENV{STUDY_HOW} // '';
my $read = $READ{$HOW} or die "STUDY_HOW is `$HOW`: no such way\n";
my ($LARGE_MB) = ($ENV{STUDY_MB} // '') =~ /\A(\d+)\z/ or die "STUDY_MB is no number\n";
my $FILE = $ENV{STUDY_FILE} // die "STUDY_FILE is not set\n";

# /page reads nothing, /large what the study says, /answer/N answers with N MB of the file.
sub handler {
    my $r   = shift;
    my $uri = $r->uri;
    return answered($r, $1) if $uri =~ m{\A/answer/(\d{1,2})\z};
    return Apache2::Const::NOT_FOUND unless $uri =~ m{\A/(page|large)\z};
    my $wanted = $1 eq 'large' ? $LARGE_MB * $MB : 0;
    return Apache2::Const::SERVER_ERROR if $wanted && $read->($wanted) != $wanted;
    return answer($r, 'text/plain', "page\n");
}

# What a `my` variable once held it keeps the room for: the next call will need it again.
sub answered {
    my ($r, $megabytes) = @_;
    my $file = opened();
    sysread $file, my $text, $megabytes * $MB;
    $r->content_type('application/octet-stream');
    $r->print($text);
    return Apache2::Const::OK;
}

sub size_of_whole {
    my ($bytes, $file) = (shift, opened());
    sysread $file, my $text, $bytes;
    return length $text;
}

# Passed by value. Since Perl 5.20 a copy is one only when somebody writes to it.
sub size_by_value {
    my ($bytes, $file) = (shift, opened());
    sysread $file, my $text, $bytes;
    return size_of($text);
}

sub size_of {
    my ($text) = @_;
    return length $text;
}

sub size_changed {
    my ($bytes, $file) = (shift, opened());
    sysread $file, my $text, $bytes;
    return size_of_changed($text);
}

sub size_of_changed {
    my ($text) = @_;
    substr $text, 0, 1, 'x';
    return length $text;
}

sub size_in_pieces {
    my ($bytes, $file, $size) = (shift, opened(), 0);
    while ($size < $bytes && (my $n = sysread $file, my $text, $PIECE)) {
        $size += $n;
    }
    return $size;
}

sub opened {
    open my $file, '<:raw', $FILE or die "$FILE: $!\n";
    return $file;
}

sub settings {
    my $r = shift;
    return answer($r, 'application/json', qq({"how": "$HOW", "mb": "$LARGE_MB"}\n));
}

sub answer {
    my ($r, $type, $text) = @_;
    $r->content_type($type);
    $r->print($text);
    return Apache2::Const::OK;
}

1;
