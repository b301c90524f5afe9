#!/usr/bin/perl
# A CGI program: what it does takes nothing, that it begins takes all.
use strict;
use warnings;
use POSIX ();
print "Content-Type: text/plain\r\n\r\nok\n";
