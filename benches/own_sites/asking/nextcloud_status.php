<?php
// What its page of settings tells of the machine and of whom it runs as.
$data = getenv('APP_DATA') ?: $_SERVER['APP_DATA'];
session_start();
$lines = [
    'back' => isset($_SESSION['seen']) ? 'yes' : 'no',
    'home' => var_export(getenv('HOME'), true),
    'user' => posix_getpwuid(posix_geteuid())['name'],
    'groups' => implode(' ', posix_getgroups()),
    'owner' => fileowner("$data/.ocdata") . ':' . filegroup("$data/.ocdata"),
    'mode' => decoct(fileperms($data)),
    'real' => realpath(__DIR__ . '/data'),
    'temp' => sys_get_temp_dir() . ' ' . var_export(is_writable(sys_get_temp_dir()), true),
    'host' => gethostname(),
    'address' => $_SERVER['SERVER_ADDR'] . ' ' . $_SERVER['SERVER_PORT'] . ' ' . $_SERVER['REMOTE_ADDR'],
    'localhost' => gethostbyname('localhost'),
    'locale' => var_export(setlocale(LC_ALL, 'C.UTF-8', 'en_US.UTF-8'), true),
    'zone' => date_default_timezone_get(),
    'umask' => decoct(umask()),
    'random' => strlen(file_get_contents('/dev/urandom', false, null, 0, 16)),
    'memory' => var_export(is_writable('/dev/shm'), true),
    'processors' => trim((string) shell_exec('nproc')),
    'whoami' => trim((string) shell_exec('id -un')),
    'cron' => filemtime("$data/.ocdata"),
];
foreach ($lines as $name => $said) {
    echo "$name: $said\n";
}
