#!/usr/bin/perl
use strict;
use warnings;

use Page ();

print "Content-Type: text/html\n\n", Page::of_query($ENV{QUERY_STRING});
