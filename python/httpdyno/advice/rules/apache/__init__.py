"""Rules for Apache httpd 2.4, a file for each matter."""
