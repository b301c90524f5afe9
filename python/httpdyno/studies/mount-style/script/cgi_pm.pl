#!/usr/bin/perl
use strict;
use warnings;

use CGI  ();
use Page ();

my $query = CGI->new;
print $query->header(-type => 'text/html', -charset => ''), Page::of_cgi($query);
