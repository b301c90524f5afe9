<?php
// What Matomo asks at each page (`Filechecks::dieIfDirectoriesNotWritable`), below an `open_basedir`.
$root = $_SERVER['APP_DATA'];
$folders = ['/tmp', '/tmp/assets', '/tmp/cache', '/tmp/logs', '/tmp/sessions', '/tmp/templates_c'];
$wrong = [];
foreach ($folders as $name) {
    if (!is_dir($root . $name)) {
        @mkdir($root . $name, 0750, true);
    }
    if (!is_writable($root . $name) || @opendir($root . $name) === false) {
        $wrong[] = $root . $name;
    }
}
if ($wrong) {
    echo "<h1>Matomo couldn't write to some directories</h1>\n";
    echo "chown -R www-data:www-data $root/tmp\n", implode("\n", $wrong), "\n";
    exit;
}
session_save_path("$root/tmp/sessions");
session_start();
// A report that is read while another process adds to it.
$read = fopen("$root/tmp/logs/archive.log", 'r');
$before = strlen((string) stream_get_contents($read));
file_put_contents("$root/tmp/logs/archive.log", "one more line\n", FILE_APPEND | LOCK_EX);
$more = strlen((string) stream_get_contents($read));
$outside = @file_exists('/etc/hostname');
$file = "$root/tmp/cache/tracker/general.php";
@unlink($file);
$made = is_dir(dirname($file)) || @mkdir(dirname($file));
$is_kept = $made && @file_put_contents($file, '<?php return 1;') && @rmdir("$root/tmp/cache/old");
is_dir("$root/tmp/cache/old") || @mkdir("$root/tmp/cache/old");
echo "<h1>Matomo</h1>\n", 'archive ', $before > 0 ? 'read' : 'empty', ", then $more more\n";
echo 'cache ', var_export($is_kept, true), ' outside ', var_export($outside, true), "\n";
echo 'same file ', var_export(fileinode(__FILE__) === getmyinode(), true), "\n";
echo 'shell ', trim((string) shell_exec('ps -o comm= -p $$')), "\n";
for ($k = 0; $k < 400; $k++) {
    echo "<p>site $k ", crc32("site $k"), "</p>\n";
}
