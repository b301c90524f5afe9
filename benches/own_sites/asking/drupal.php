<?php
// What Drupal's status and installer ask: its settings may not be written, its files have to be.
$site = __DIR__ . '/sites/default';
$files = "$site/files";
$wrong = [];
foreach (["$site/settings.php", $site] as $path) {
    if (is_writable($path)) {
        $wrong[] = "$path is not protected from modifications";
    }
}
if (@file_put_contents("$site/settings.php", 'x', FILE_APPEND) !== false) {
    $wrong[] = 'settings.php was written';
}
foreach ([$files, "$files/css", "$files/php/twig", sys_get_temp_dir()] as $folder) {
    if (!is_dir($folder) && !@mkdir($folder, 0775, true)) {
        $wrong[] = "$folder could not be created";
    }
    if (!is_writable($folder) && !@chmod($folder, 0775)) {
        $wrong[] = "$folder is not writable";
    }
}
// Compiled templates are trusted only where the folder's time is the file's own.
$folder = "$files/php/twig/known";
$written = @file_put_contents("$files/php/twig/aside", '<?php return 7;');
if ($written === false || (!is_dir($folder) && !@mkdir($folder, 0777))) {
    $wrong[] = 'templates cannot be compiled';
}
@rename("$files/php/twig/aside", "$folder/x.php");
@chmod("$folder/x.php", 0444);
@touch("$folder/x.php", 1700000000);
@touch($folder, 1700000000);
clearstatcache();
if (@filemtime($folder) !== 1700000000 || @filemtime("$folder/x.php") !== 1700000000) {
    $wrong[] = 'times are not kept';
}
if (@filemtime("$files/logo.png") !== 1650000000) {
    $wrong[] = 'the time of the logo is another';
}
if (realpath("$site/private") !== $_SERVER['APP_DATA'] || !is_writable("$site/private")) {
    $wrong[] = 'The private folder is not writable: ' . var_export(realpath("$site/private"), true);
}
if (@link("$files/logo.png", "$files/logo-hard.png") === false || @unlink("$files/logo-hard.png") === false) {
    $wrong[] = 'no hard link can be made';
}
if ($wrong) {
    echo "<h1>Requirements problem</h1>\n", implode("\n", $wrong), "\n";
    exit;
}
echo "<h1>Drupal</h1>\n", fileowner($files), ' ', decoct(fileperms($site)), ' ', (include "$folder/x.php"), "\n";
for ($k = 0; $k < 400; $k++) {
    echo "<p>node $k ", crc32("node $k"), "</p>\n";
}
