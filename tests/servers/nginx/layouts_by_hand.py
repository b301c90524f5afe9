"""Layouts that people grow: other systems, proxies, applications, odd spellings."""

from tests.servers.nginx.layout import FASTCGI, TYPES, Layout

NO_LISTEN = Layout(
    name="no-listen",
    main="/etc/nginx/nginx.conf",
    files={
        "/etc/nginx/nginx.conf": """pid @/run/nginx.pid;
error_log @/var/log/nginx/error.log;
events {
}
http {
    access_log @/var/log/nginx/access.log;
    server {
        server_name plain.example;
        root @/srv/plain;
    }
}
""",
    },
)

RHEL = Layout(
    name="rhel",
    main="/etc/nginx/nginx.conf",
    files={
        "/etc/nginx/nginx.conf": """# For more information on configuration, see the documentation.
user nginx;
worker_processes auto;
error_log @/var/log/nginx/error.log notice;
pid @/run/nginx.pid;

# Load dynamic modules.
include @/usr/share/nginx/modules/*.conf;

events {
    worker_connections 1024;
}

http {
    log_format  main  '$remote_addr - $remote_user [$time_local] "$request" '
                      '$status $body_bytes_sent "$http_referer"';

    access_log  @/var/log/nginx/access.log  main;

    sendfile            on;
    tcp_nopush          on;
    keepalive_timeout   65;
    types_hash_max_size 4096;

    include             @/etc/nginx/mime.types;
    default_type        application/octet-stream;

    # Load modular configuration files from the /etc/nginx/conf.d directory.
    include @/etc/nginx/conf.d/*.conf;

    server {
        listen       80;
        listen       [::]:80;
        server_name  _;
        root         @/usr/share/nginx/html;

        # Load configuration files for the default server block.
        include @/etc/nginx/default.d/*.conf;
    }
}
""",
        "/etc/nginx/mime.types": TYPES,
        "/etc/nginx/default.d/status.conf": "location /status {\n    stub_status;\n}\n",
    },
)

PROXY = Layout(
    name="proxy",
    main="/etc/nginx/nginx.conf",
    files={
        "/etc/nginx/nginx.conf": """worker_processes 2;
pid @/run/nginx.pid;
error_log @/var/log/nginx/error.log;
events {
    worker_connections 1024;
}
http {
    access_log @/var/log/nginx/access.log;
    proxy_temp_path @/var/cache/nginx/proxy;
    proxy_cache_path @/var/cache/nginx/pages levels=1:2 keys_zone=pages:1m;
    map $http_upgrade $connection_upgrade {
        default upgrade;
        ''      close;
    }
    upstream app {
        least_conn;
        server 127.0.0.1:8000;
        server 127.0.0.1:8001 weight=2 max_fails=3;
    }
    upstream api {
        server unix:@/run/api.sock;
        keepalive 16;
    }
    upstream sockets {
        server 127.0.0.1:9000;
    }
    server {
        listen 80;
        server_name app.example;
        location / {
            proxy_pass http://app;
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        }
        location /api/ {
            proxy_pass http://api/;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffers 16 8k;
            proxy_busy_buffers_size 16k;
        }
        location /ws/ {
            proxy_pass http://sockets;
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
        }
        location /direct/ {
            proxy_pass http://127.0.0.1:3000/x/;
        }
    }
}
""",
    },
)

STREAM = Layout(
    name="stream",
    main="/etc/nginx/nginx.conf",
    needs="stream",
    files={
        "/etc/nginx/nginx.conf": """worker_processes 1;
pid @/run/nginx.pid;
events { worker_connections 1024; }
stream {
    upstream databases {
        server 127.0.0.1:5432;
    }
    server {
        listen 6432;
        proxy_pass databases;
    }
    server {
        listen 5353 udp;
        proxy_pass 127.0.0.1:53;
    }
}
http {
    access_log @/var/log/nginx/access.log;
    server {
        listen 80;
        server_name beside.example;
        root @/srv;
    }
}
""",
    },
)

WORDPRESS = Layout(
    name="wordpress",
    main="/etc/nginx/nginx.conf",
    files={
        "/etc/nginx/nginx.conf": """user www-data;
worker_processes auto;
pid @/run/nginx.pid;
error_log @/var/log/nginx/error.log;
events { worker_connections 768; }
http {
    sendfile on;
    include mime.types;
    upstream php {
        server unix:@/run/php/php8.2-fpm.sock;
    }
    limit_req_zone $binary_remote_addr zone=login:1m rate=1r/s;
    server {
        listen 80;
        server_name blog.example;
        root @/srv/wordpress;
        index index.php;
        access_log @/var/log/nginx/blog.log;
        client_max_body_size 64m;
        location / {
            try_files $uri $uri/ /index.php?$args;
        }
        location = /wp-login.php {
            limit_req zone=login burst=2;
            include fastcgi.conf;
            fastcgi_pass php;
        }
        location ~ \\.php$ {
            include fastcgi.conf;
            fastcgi_intercept_errors on;
            fastcgi_pass php;
            fastcgi_buffers 16 16k;
            fastcgi_buffer_size 32k;
        }
        location ~* \\.(js|css|png)$ {
            expires max;
            log_not_found off;
        }
    }
}
""",
        "/etc/nginx/mime.types": TYPES,
        "/etc/nginx/fastcgi.conf": FASTCGI,
    },
)

CRLF = Layout(
    name="crlf",
    main="/etc/nginx/nginx.conf",
    files={
        "/etc/nginx/nginx.conf": """worker_processes 1;
pid @/run/nginx.pid;
error_log @/var/log/nginx/error.log;
events {
    worker_connections 1024;
}
http {
    access_log @/var/log/nginx/access.log;
    keepalive_timeout 65; # seconds; not more
    server {
        listen 80;
        server_name windows.example;
        location / { return 200 "gr\u00fc\u00dfe"; }
    }
}
""".replace("\n", "\r\n"),
    },
)

TIGHT = Layout(
    name="tight",
    main="/etc/nginx/nginx.conf",
    files={
        "/etc/nginx/nginx.conf": (
            "events{}error_log @/var/log/nginx/e.log;pid @/run/t.pid;http{access_log off;"
            'server{set $a "${uri}x";location /{return 200 ${a}b;}location @named{return 204;}}}'
        )
    },
)
