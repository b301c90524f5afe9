<?php
// As much as a small framework has to be compiled for each page.

function heading()
{
    return part7(7);
}

function part0($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 0 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part1($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 1 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part2($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 2 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part3($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 3 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part4($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 4 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part5($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 5 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part6($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 6 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part7($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 7 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part8($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 8 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part9($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 9 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part10($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 10 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part11($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 11 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part12($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 12 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part13($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 13 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part14($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 14 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part15($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 15 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part16($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 16 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part17($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 17 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part18($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 18 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part19($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 19 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part20($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 20 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part21($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 21 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part22($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 22 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part23($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 23 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part24($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 24 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part25($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 25 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part26($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 26 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part27($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 27 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part28($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 28 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part29($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 29 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part30($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 30 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part31($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 31 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part32($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 32 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part33($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 33 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part34($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 34 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part35($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 35 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part36($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 36 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part37($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 37 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part38($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 38 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part39($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 39 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part40($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 40 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part41($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 41 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part42($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 42 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part43($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 43 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part44($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 44 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part45($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 45 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part46($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 46 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part47($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 47 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part48($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 48 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part49($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 49 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part50($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 50 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part51($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 51 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part52($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 52 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part53($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 53 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part54($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 54 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part55($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 55 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part56($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 56 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part57($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 57 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part58($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 58 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}

function part59($depth)
{
    $found = [];
    foreach (['a', 'b', 'c', 'd'] as $key => $name) {
        $found[$name . $key] = $depth > 59 ? strtoupper($name) : str_repeat($name, 2);
    }
    ksort($found);
    return implode(' ', $found);
}
