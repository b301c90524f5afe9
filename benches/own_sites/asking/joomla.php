<?php
// What Joomla's page of folder permissions tells, and its session and cache need.
$root = __DIR__;
$data = $_SERVER['APP_DATA'];
$rows = [];
foreach (['administrator/cache', 'cache', 'images', 'tmp', 'configuration.php', 'language'] as $name) {
    $rows[] = "$name: " . (is_writable("$root/$name") ? 'Writable' : 'Unwritable');
}
$rows[] = 'logs: ' . (is_writable("$data/logs") ? 'Writable' : 'Unwritable');
$rows[] = 'session: ' . (is_writable(session_save_path()) ? 'Writable' : 'Unwritable');
if (!@session_start()) {
    echo "Error: Failed to start the session because of its folder\n";
    exit;
}
$written = @file_put_contents("$root/cache/_system/page.php", "<?php die();\n", LOCK_EX);
if ($written === false) {
    echo "Error: the cache folder cannot be written\n";
    exit;
}
@error_log("asked\n", 3, "$data/logs/everything.php");
$images = array_map('basename', glob("$root/images/*") ?: []);
echo "<h1>Joomla</h1>\n", implode("\n", $rows), "\n", implode(' ', $images), "\n";
$named = pathinfo(tempnam("$root/tmp", 'install_') ?: '', PATHINFO_DIRNAME);
array_map('unlink', glob("$root/tmp/install_*") ?: []);
echo 'packages are unpacked in ', $named, "\n";
for ($k = 0; $k < 400; $k++) {
    echo "<p>article $k ", crc32("article $k"), "</p>\n";
}
