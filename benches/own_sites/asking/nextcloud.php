<?php
// What Nextcloud asks before each page (`OC_Util::checkServer`): its error page has status 200.
$data = getenv('APP_DATA') ?: $_SERVER['APP_DATA'];
$config = __DIR__ . '/config';
$errors = [];
if (!is_writable($config) || !is_writable("$config/config.php")) {
    $errors[] = 'Cannot write into "config" directory';
}
if (!is_dir($data)) {
    $errors[] = 'Cannot create "data" directory';
} else {
    if (!is_writable($data) || !is_readable($data)) {
        $errors[] = 'Your data directory is not writable';
    }
    $mode = substr(decoct(@fileperms($data)), -3);
    if (substr($mode, -1) !== '0') {
        chmod($data, 0770);
        clearstatcache();
        $errors[] = "Your data directory is readable by other people: $mode";
    }
    if (!file_exists("$data/.ocdata")) {
        $errors[] = 'Your data directory is invalid: it lacks .ocdata';
    }
}
$log = @fopen("$data/nextcloud.log", 'a');
if ($log === false || fwrite($log, "asked\n") === false) {
    $errors[] = 'Could not write the log';
}
$free = @disk_free_space($data);
if ($free === false || $free < 100 << 20) {
    $errors[] = 'Less than 100 MiB of space left';
}
try {
    $base = new PDO("sqlite:$data/owncloud.db");
    $base->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
    $base->exec('PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS seen (n INTEGER)');
    $base->exec('INSERT INTO seen VALUES (1)');
    $n = $base->query('SELECT name FROM users')->fetchColumn();
} catch (PDOException $error) {
    $errors[] = 'Database: ' . $error->getMessage();
}
session_start();
$_SESSION['seen'] = true;
if (!is_writable(session_save_path())) {
    $errors[] = 'The session folder is not writable';
}
$test = "$data/appdata_x1/preview";
if (!is_dir($test) && !@mkdir($test, 0750, true)) {
    $errors[] = 'Cannot make appdata';
}
if (!@touch("$test/a.part") || !@rename("$test/a.part", "$test/a") || !@unlink("$test/a")) {
    $errors[] = 'Cannot write appdata';
}
if ($errors) {
    echo "<h1>Error</h1>\n", implode("\n", $errors), "\n";
    exit;
}
echo "<h1>Files of $n</h1>\n";
for ($k = 0; $k < 300; $k++) {
    echo "<li>file $k ", md5("file $k"), "</li>\n";
}
