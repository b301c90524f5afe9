package WhoLoads;

# Notes which file first asked for each module. %INC alone does not tell a module that is on the list
# from one that another module brought along.

use strict;
use warnings;

our %first_asked_by;

unshift @INC, sub {
    my (undef, $file) = @_;
    $first_asked_by{$file} //= (caller 0)[1];
    return;
};

1;
