<?php
// What WordPress asks: whose the files are that it writes (`get_filesystem_method`), and where uploads go.
$content = __DIR__ . '/wp-content';
$temporary = "$content/temp-write-test-" . str_replace('.', '-', uniqid('', true));
$handle = @fopen($temporary, 'w');
$method = '';
if ($handle) {
    $ours = fileowner(__DIR__ . '/wp-admin/file.php');
    $written = @fileowner($temporary);
    if ($ours !== false && $ours === $written) {
        $method = 'direct';
    }
    @fclose($handle);
    @unlink($temporary);
}
if ($method !== 'direct') {
    echo "<h1>Connection Information</h1>\nTo perform the requested action, WordPress needs to access";
    echo " your web server. Please enter your FTP credentials to proceed.\n";
    exit;
}
$uploads = "$content/uploads/2023/05";
if (!is_dir($uploads)) {
    $mode = stat("$content/uploads")['mode'] & 0007777;
    if (!@mkdir($uploads, $mode, true) || !@chmod($uploads, $mode)) {
        echo "<h1>Error</h1>\nUnable to create directory wp-content/uploads/2023/05.\n";
        exit;
    }
}
$cache = "$content/cache/page.html";
if (!@file_put_contents($cache, 'page', LOCK_EX) || file_get_contents($cache) !== 'page') {
    echo "<h1>Error</h1>\nThe page cache cannot be written.\n";
    exit;
}
clearstatcache();
echo "<h1>Hello world!</h1>\n", decoct(fileperms($uploads)), ' ', fileowner($uploads), "\n";
// A drop-in asks Redis by a socket, and goes on without it where nobody answers.
if (isset($_GET['cached'])) {
    $redis = @stream_socket_client('unix://' . $_SERVER['APP_SOCKET'], $number, $why, 1);
    echo 'object cache: ', $redis ? trim((string) fgets($redis)) : '(nil)', "\n";
}
for ($k = 0; $k < 400; $k++) {
    echo "<p>post $k ", crc32("post $k"), "</p>\n";
}
