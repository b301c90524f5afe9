#!/usr/bin/perl
use strict;
use warnings;

use CGI  ();
use Page ();

my $query = CGI->new;
print $query->header('text/html'), Page::of_cgi($query);
