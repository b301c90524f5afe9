"""php-fpm, as people run it behind their web server."""

from httpdyno.servers.php_fpm.server import PhpFpm

__all__ = ["PhpFpm"]
