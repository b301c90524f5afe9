# Makes twelve files of 10,000 bytes in a folder: files.pl FOLDER

use strict;
use warnings;

my ($folder) = @ARGV;
mkdir $folder or die "$folder: $!\n";
for my $name (map { sprintf '%02d', $_ } 1 .. 12) {
    open my $file, '>', "$folder/$name" or die "$folder/$name: $!\n";
    print {$file} $name x 5_000;
    close $file or die "$folder/$name: $!\n";
}
