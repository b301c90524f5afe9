package Page;

# A page of 1.5 kB that depends on its query, for a script and for handlers alike.

use strict;
use warnings;

sub rows {
    my ($first, $n_rows) = @_;
    my @rows = map { sprintf "<tr><td>%d</td><td>%.3f</td></tr>\n", $_, sqrt $_ }
        $first .. $first + $n_rows - 1;
    return join '', "<table>\n", @rows, "</table>\n";
}

# By hand: no name or value here is encoded.
sub of_query {
    my %field = map { split /=/, $_, 2 } split /&/, shift // '';
    return rows($field{first} // 1, $field{rows} // 0);
}

sub of_cgi {
    my $query = shift;
    return rows($query->param('first') // 1, $query->param('rows') // 0);
}

1;
