<?php
// What Moodle asks as it sets up (`lib/setuplib.php`): a data root that is its own, and folders in it.
$root = $_SERVER['APP_DATA'];
$mode = 02777;
umask(0000);
function failed(string $why): never
{
    echo "<h1>Fatal error</h1>\n$why\n";
    exit;
}
if (!is_dir($root) || !is_writable($root)) {
    failed('$CFG->dataroot is not writable, admin has to fix directory permissions! Exiting.');
}
foreach (['temp/backup', 'cache/cachestore_file', 'localcache/theme', 'sessions', 'trashdir'] as $name) {
    $folder = "$root/$name";
    if (!is_dir($folder) && !@mkdir($folder, $mode, true)) {
        failed("$folder can not be created, check permissions.");
    }
    if (!is_writable($folder)) {
        failed("$folder is not writable, check permissions.");
    }
}
$lock = @fopen("$root/lock.txt", 'c+');
if ($lock === false || !flock($lock, LOCK_EX | LOCK_NB)) {
    failed('the lock cannot be had');
}
ftruncate($lock, 0);
fwrite($lock, 'locked');
fflush($lock);
flock($lock, LOCK_UN);
// A file of the pool is written aside and moved where its digest says; its mode is set then.
$body = str_repeat('content ', 512);
$pool = "$root/filedir/" . substr(sha1($body), 0, 2);
is_dir($pool) || @mkdir($pool, $mode, true);
$aside = tempnam("$root/temp", 'up');
if ($aside === false || dirname($aside) !== realpath("$root/temp")) {
    failed('tempnam fell back to another folder');
}
if (file_put_contents($aside, $body) === false || !@rename($aside, "$pool/" . sha1($body))) {
    failed('the pool is not writable');
}
@chmod("$pool/" . sha1($body), 0666 & $mode);
session_save_path("$root/sessions");
if (!session_start()) {
    failed('sessions cannot be started');
}
// What was there before it began is moved away as a whole, and comes back.
if (!@rename("$root/muc", "$root/trashdir/muc-old") || !@rename("$root/trashdir/muc-old", "$root/muc")) {
    failed('a folder of the data root cannot be moved');
}
clearstatcache();
echo "<h1>Moodle</h1>\n", substr(sprintf('%o', fileperms($pool)), -4), ' ', fileowner($root), "\n";
echo 'owner of the script ', get_current_user(), ' ', getmyuid(), "\n";
echo 'home ', var_export(getenv('HOME'), true), ' path ', getenv('PATH'), "\n";
for ($k = 0; $k < 400; $k++) {
    echo "<p>course $k ", crc32("course $k"), "</p>\n";
}
