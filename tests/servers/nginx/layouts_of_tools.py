"""Layouts that guides and tools make."""

from tests.servers.nginx.layout import TYPES, Layout

CERTBOT = Layout(
    name="certbot",
    main="/etc/nginx/nginx.conf",
    files={
        "/etc/nginx/nginx.conf": """user www-data;
worker_processes 1;
pid @/run/nginx.pid;
events { worker_connections 1024; }
http {
    include mime.types;
    access_log @/var/log/nginx/access.log;
    error_log @/var/log/nginx/error.log;
    keepalive_timeout 65;
    include @/etc/nginx/sites-enabled/*;
}
""",
        "/etc/nginx/mime.types": TYPES,
        "/etc/nginx/sites-available/shop": """server {
    server_name shop.example www.shop.example;
    root @/srv/shop;

    location / {
        try_files $uri $uri/ =404;
    }

    listen [::]:443 ssl ipv6only=on; # managed by Certbot
    listen 443 ssl; # managed by Certbot
    ssl_certificate @/etc/letsencrypt/live/shop.example/fullchain.pem; # managed by Certbot
    ssl_certificate_key @/etc/letsencrypt/live/shop.example/privkey.pem; # managed by Certbot
    include @/etc/letsencrypt/options-ssl-nginx.conf; # managed by Certbot
}
server {
    if ($host = www.shop.example) {
        return 301 https://$host$request_uri;
    } # managed by Certbot


    if ($host = shop.example) {
        return 301 https://$host$request_uri;
    } # managed by Certbot


    listen 80;
    listen [::]:80;
    server_name shop.example www.shop.example;
    return 404; # managed by Certbot
}
""",
        "/etc/letsencrypt/options-ssl-nginx.conf": """# Kept up to date by a program.

ssl_session_cache shared:le_nginx_SSL:10m;
ssl_session_timeout 1440m;
ssl_session_tickets off;

ssl_protocols TLSv1.2 TLSv1.3;
ssl_prefer_server_ciphers off;
""",
    },
    links={"/etc/nginx/sites-enabled/shop": "/etc/nginx/sites-available/shop"},
)

H5BP = Layout(
    name="h5bp",
    main="/etc/nginx/nginx.conf",
    files={
        "/etc/nginx/nginx.conf": """# Kept in parts

user www-data;

worker_processes auto;

# Maximum open file descriptors per process
worker_rlimit_nofile 8192;

events {

  worker_connections 8000;

}

error_log @/var/log/nginx/error.log warn;
pid       @/run/nginx.pid;

http {

  server_tokens off;

  include h5bp/media_types/media_types.conf;
  include h5bp/media_types/character_encodings.conf;

  log_format main '$remote_addr - $remote_user [$time_local] "$request" '
                  '$status $body_bytes_sent "$http_referer" '
                  '"$http_user_agent" "$http_x_forwarded_for"';

  access_log @/var/log/nginx/access.log main;

  keepalive_timeout 20s;
  sendfile on;
  tcp_nopush on;

  include h5bp/web_performance/compression.conf;
  include h5bp/web_performance/cache_expiration.conf;

  include conf.d/*.conf;

}
""",
        "/etc/nginx/h5bp/media_types/media_types.conf": TYPES,
        "/etc/nginx/h5bp/media_types/character_encodings.conf": """charset utf-8;
charset_types
  text/css
  text/plain
  application/json;
""",
        "/etc/nginx/h5bp/web_performance/compression.conf": """gzip on;
gzip_comp_level 5;
gzip_min_length 256;
gzip_proxied any;
gzip_vary on;
gzip_types
  application/javascript
  application/json
  image/svg+xml
  text/css;
""",
        "/etc/nginx/h5bp/web_performance/cache_expiration.conf": """map $sent_http_content_type
    $expires {
  default                                 1M;

  # No content
  ""                                      off;

  # CSS
  text/css                                1y;
  ~*application/(?:atom|rdf|rss)\\+xml     1h;
}

expires $expires;
""",
        "/etc/nginx/conf.d/www.shop.example.conf": """server {
  listen [::]:80;
  listen 80;
  server_name shop.example;
  return 301 $scheme://www.shop.example$request_uri;
}

server {
  listen [::]:80;
  listen 80;
  server_name www.shop.example;
  root @/srv/www.shop.example/public;
  error_page 404 /404.html;
  include h5bp/location/security_file_access.conf;
}
""",
        "/etc/nginx/h5bp/location/security_file_access.conf": """location ~* /\\.(?!well-known\\/) {
  deny all;
}
location ~* (?:#.*#|\\.(?:bak|conf|dist|sql|sw[op])|~)$ {
  deny all;
}
""",
    },
)

SSL_SNIPPET = Layout(
    name="ssl-snippet",
    main="/etc/nginx/nginx.conf",
    files={
        "/etc/nginx/nginx.conf": """worker_processes 2;
pid @/run/nginx.pid;
error_log @/var/log/nginx/error.log;
events { }
http {
    access_log @/var/log/nginx/access.log;
    include conf.d/*.conf;
}
""",
        "/etc/nginx/conf.d/one.conf": """server {
    listen 443 ssl http2;
    server_name one.example;
    include snippets/ssl.conf;
    root @/srv/one;
}
""",
        "/etc/nginx/conf.d/two.conf": """server {
    listen 443 ssl http2;
    server_name two.example;
    include snippets/ssl.conf;
    root @/srv/two;
}
server {
    listen 80;
    server_name one.example two.example;
    return 301 https://$host$request_uri;
}
""",
        "/etc/nginx/snippets/ssl.conf": """ssl_certificate     @/etc/ssl/site.pem;
ssl_certificate_key @/etc/ssl/private/site.key;
ssl_session_cache   shared:SSL:1m;
ssl_session_timeout 5m;
ssl_buffer_size     8k;
""",
    },
)
