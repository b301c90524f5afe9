<?php
// What is in force: whether this process compiles to a cache, and what Apache says of its own.

$status = function_exists('opcache_get_status') ? opcache_get_status(false) : false;
header('Content-Type: application/json');
echo json_encode([
    'opcache' => is_array($status) && $status['opcache_enabled'],
    'cache' => $_SERVER['KEPT'] ?? 'off',
]);
