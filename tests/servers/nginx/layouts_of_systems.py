"""Layouts that packages make, and hosts with many servers."""

from tests.servers.nginx.layout import TYPES, Layout

DEBIAN = Layout(
    name="debian",
    main="/etc/nginx/nginx.conf",
    files={
        "/etc/nginx/nginx.conf": """user www-data;
worker_processes auto;
pid @/run/nginx.pid;
error_log @/var/log/nginx/error.log;
include @/etc/nginx/modules-enabled/*.conf;

events {
	worker_connections 768;
	# multi_accept on;
}

http {

	##
	# Basic Settings
	##

	sendfile on;
	tcp_nopush on;
	types_hash_max_size 2048;

	include @/etc/nginx/mime.types;
	default_type application/octet-stream;

	##
	# Logging Settings
	##

	access_log @/var/log/nginx/access.log;

	##
	# Gzip Settings
	##

	gzip on;

	# gzip_vary on;
	# gzip_comp_level 6;

	##
	# Virtual Host Configs
	##

	include @/etc/nginx/conf.d/*.conf;
	include @/etc/nginx/sites-enabled/*;
}

#mail {
#	server {
#		listen localhost:110;
#	}
#}
""",
        "/etc/nginx/mime.types": TYPES,
        "/etc/nginx/sites-available/default": """# The default host
server {
	listen 80 default_server;
	listen [::]:80 default_server;

	root @/srv/www;
	index index.html;

	server_name _;

	location / {
		# First attempt to serve request as file
		try_files $uri $uri/ =404;
	}

	#location ~ \\.php$ {
	#	include snippets/fastcgi-php.conf;
	#}
}
""",
    },
    links={"/etc/nginx/sites-enabled/default": "/etc/nginx/sites-available/default"},
)

ONE_FILE = Layout(
    name="one-file",
    main="/usr/local/nginx/conf/nginx.conf",
    files={
        "/usr/local/nginx/conf/nginx.conf": """worker_processes 2; pid @/run/one.pid;
events { use epoll; worker_connections 2048; multi_accept off; }
http {
  access_log off; error_log "@/var/log/nginx/one error.log" crit;
  keepalive_timeout 15 10;
  server { listen 8080; server_name one.example; location / { return 200 "ok; {fine}\\n"; } }
  server { listen 8081 reuseport backlog=1024;
    server_name 'two.example'; location = /x { sendfile on; root @/srv; }
    location ^~ /img/ { open_file_cache max=100 inactive=5s; root @/srv; } } }"""
    },
)

SYMLINK_FARM = Layout(
    name="symlink-farm",
    main="/etc/nginx/nginx.conf",
    files={
        "/etc/nginx/nginx.conf": """user www-data;
worker_processes 4;
pid @/run/nginx.pid;
events {
    worker_connections 1024;
}
http {
    access_log @/var/log/nginx/access.log combined buffer=16k flush=5s;
    error_log @/var/log/nginx/error.log;
    include sites-enabled/*;
}
""",
        "/srv/config/alpha.conf": """server {
    listen 80;
    server_name alpha.example;
    root @/srv/alpha;
    keepalive_timeout 10s;
}
""",
        "/srv/config/beta.conf": """server {
    listen 80;
    server_name beta.example;
    root @/srv/beta;
    access_log @/var/log/nginx/beta.log;
    location /download/ {
        sendfile on;
        keepalive_timeout 120s;
        location ~ \\.zip$ {
            output_buffers 4 64k;
        }
    }
}
""",
        "/srv/config/gamma.conf": """server {
    listen 127.0.0.1:8080;
    server_name gamma.example;
    root @/srv/gamma;
}
""",
    },
    links={
        "/etc/nginx/sites-enabled/010-beta": "/srv/config/beta.conf",
        "/etc/nginx/sites-enabled/020-alpha": "/srv/config/alpha.conf",
        "/etc/nginx/sites-enabled/Zgamma": "/srv/config/gamma.conf",
    },
)

GLOBS = Layout(
    name="globs",
    main="/etc/nginx/nginx.conf",
    files={
        "/etc/nginx/nginx.conf": """pid @/run/nginx.pid;
error_log @/var/log/nginx/error.log;
include main.d/*.conf;
events { include events.d/*; }
http {
    include http.d/[0-9]*.conf;
    include vhosts/*/host.conf;
    include nothing-here/*.conf;
}
""",
        "/etc/nginx/main.d/workers.conf": "worker_processes 3;\n",
        "/etc/nginx/events.d/connections": "worker_connections 4096;\n",
        "/etc/nginx/http.d/10-log.conf": "access_log @/var/log/nginx/access.log;\n",
        "/etc/nginx/http.d/20-keepalive.conf": "keepalive_requests 500;\nkeepalive_timeout 30;\n",
        "/etc/nginx/vhosts/a.example/host.conf": """server {
    listen 80;
    server_name a.example;
    include vhosts/a.example/parts/*.conf;
}
""",
        "/etc/nginx/vhosts/a.example/parts/static.conf": """location /static/ {
    alias @/srv/static/;
    sendfile off;
}
""",
        "/etc/nginx/vhosts/b.example/host.conf": """server {
    listen 80;
    server_name b.example;
    root @/srv/b;
    gzip on;
    gzip_comp_level 9;
}
""",
    },
)

LUA = Layout(
    name="lua",
    main="/usr/local/openresty/nginx/conf/nginx.conf",
    needs="lua",
    files={
        "/usr/local/openresty/nginx/conf/nginx.conf": """worker_processes auto;
events { worker_connections 1024; }
http {
    access_log @/var/log/nginx/access.log;
    init_by_lua_block {
        -- a brace in a comment: }
        local text = "and in a string: }"
        local long = [[ and { here ]]
        --[==[ { { { ]==]
        settings = { depth = { 1, 2 } }
    }
    server {
        listen 80;
        server_name lua.example;
        location /hello {
            content_by_lua_block {
                if ngx.var.arg_name == '}' then ngx.say("a \\" quote }") end
            }
            keepalive_timeout 5s;
        }
        location /set { set_by_lua_block $sum { return 1 + 1 } return 200 $sum; }
    }
}
"""
    },
)

IP_HOSTS = Layout(
    name="ip-hosts",
    main="/etc/nginx/nginx.conf",
    files={
        "/etc/nginx/nginx.conf": """worker_processes 1;
pid @/run/nginx.pid;
error_log @/var/log/nginx/error.log;
events { worker_connections 512; }
http {
    access_log @/var/log/nginx/access.log;
    server {
        listen 192.0.2.10:80;
        listen 192.0.2.10:443 ssl backlog=2048;
        server_name ten.example;
        ssl_certificate @/etc/ssl/site.pem;
        ssl_certificate_key @/etc/ssl/private/site.key;
        root @/srv/ten;
    }
    server {
        listen 192.0.2.11;
        server_name eleven.example;
        root @/srv/eleven;
    }
    server {
        listen unix:@/run/nginx-local.sock;
        listen [2001:db8::1]:80 ipv6only=on;
        root @/srv/local;
    }
}
""",
    },
)
