//! The rooms of the engine's source: who uses whom is as the table in `lib.rs` says, and no
//! modules use each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module, as the path to it from the crate's root.
type Module = Vec<String>;

/// What each module uses, with the place where it says so.
type Uses = BTreeMap<(Module, Module), String>;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// All files but those of tests.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_of_tests = ["_tests", "_rig"].iter().any(|end| name.ends_with(end))
            || ["fuzz", "example"].contains(&name);
        if is_of_tests {
            continue;
        }
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn module_of(path: &Path) -> Module {
    let inside = path.strip_prefix(source()).unwrap().with_extension("");
    let mut module: Module = inside.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if ["mod", "lib"].contains(&module.last().unwrap().as_str()) {
        module.pop();
    }
    module
}

/// A file's code without comments, and without its tests, which stand at its end.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let text = text.split("#[cfg(test)]\n#[path").next().unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The modules of this crate that paths in a module's code lead to, as far as they are modules.
fn used(code: &str, module: &Module, known: &BTreeSet<Module>) -> BTreeSet<Module> {
    let mut found = BTreeSet::new();
    for (at, start) in code.match_indices("crate::").chain(code.match_indices("super::")) {
        if code[..at].ends_with("::") || code[..at].ends_with(is_of_word) {
            continue; // amid a path
        }
        let base = if start == "crate::" { Module::new() } else { module.clone() };
        let mut targets = Vec::new();
        follow(&code[at..], base, &mut targets);
        for mut target in targets {
            while !target.is_empty() && !known.contains(&target) {
                target.pop();
            }
            found.insert(target);
        }
    }
    found
}

const fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Add where the path that `code` begins with leads from `base`: to several, where it ends in a
/// group in braces. Returns the code after it.
fn follow<'a>(code: &'a str, mut base: Module, targets: &mut Vec<Module>) -> &'a str {
    let mut rest = code;
    loop {
        if let Some(mut group) = rest.strip_prefix('{') {
            loop {
                group = group.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
                if group.is_empty() {
                    return group; // no code of Rust
                }
                if let Some(after) = group.strip_prefix('}') {
                    return after;
                }
                let after = follow(group, base.clone(), targets);
                // What stands beside the path, as ` as name` does, leads nowhere.
                group = after.trim_start_matches(|c| !matches!(c, ',' | '}'));
            }
        }
        let (word, after) = rest.split_at(rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()));
        match word {
            "crate" | "self" | "" => {}
            "super" => drop(base.pop()),
            word => base.push(word.to_owned()),
        }
        let Some(deeper) = after.strip_prefix("::") else {
            targets.push(base);
            return after;
        };
        rest = deeper;
    }
}

fn uses() -> Uses {
    let files: Vec<_> = files(&source()).into_iter().map(|path| (module_of(&path), path)).collect();
    let known: BTreeSet<Module> = files.iter().map(|(module, _)| module.clone()).collect();
    let mut uses = Uses::new();
    for (module, path) in files {
        for target in used(&code(&path), &module, &known) {
            uses.insert((module.clone(), target), path.display().to_string());
        }
    }
    uses
}

/// The table in the crate's documentation: what each room may use.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(source().join("lib.rs")).unwrap();
    let words = |cell: &str| -> BTreeSet<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let rows = text.lines().filter(|line| line.starts_with("//! | `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        (words(cells[1]).pop_first().unwrap(), words(cells[3]))
    })
    .collect()
}

/// A circle among the things that `edges` lead to and from, if there is one.
fn circle(edges: &BTreeSet<(String, String)>) -> Option<Vec<String>> {
    let mut left: BTreeSet<&String> = edges.iter().flat_map(|(from, to)| [from, to]).collect();
    // Who uses nobody that is left is in no circle.
    while let Some(&free) = left.iter().find(|&&each| {
        !edges.iter().any(|(from, to)| from == each && from != to && left.contains(to))
    }) {
        left.remove(free);
    }
    (!left.is_empty()).then(|| left.into_iter().cloned().collect())
}

#[test]
fn rooms_use_only_those_that_the_table_allows() {
    let table = table();
    assert!(table.len() >= 12, "{table:?}");
    let mut seen = BTreeSet::new();
    for ((from, to), file) in uses() {
        let Some(from) = from.first() else { continue }; // the root gives out what is public
        let allowed = table.get(from).unwrap_or_else(|| panic!("{from} is not in the table"));
        let to = to.first().unwrap_or_else(|| panic!("{file} uses the root, not a room"));
        assert!(from == to || allowed.contains(to), "{file}: {from} must not use {to}");
        seen.insert((from.clone(), to.clone()));
    }
    for (room, allowed) in table {
        for other in allowed {
            let edge = (room.clone(), other.clone());
            assert!(seen.contains(&edge), "the table lets {room} use {other}, which it does not");
        }
    }
}

#[test]
fn no_modules_use_each_other_in_a_circle() {
    // Within each folder, between what stands in it: files, and folders as wholes.
    let mut by_folder: BTreeMap<Module, BTreeSet<(String, String)>> = BTreeMap::new();
    for (from, to) in uses().into_keys() {
        let n_shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        if let (Some(a), Some(b)) = (from.get(n_shared), to.get(n_shared)) {
            by_folder.entry(from[..n_shared].to_vec()).or_default().insert((a.clone(), b.clone()));
        }
    }
    assert!(by_folder.len() > 5, "{by_folder:?}");
    for (folder, edges) in by_folder {
        let found = circle(&edges);
        assert!(found.is_none(), "in {folder:?}: {found:?}");
    }
}

#[test]
fn a_room_is_a_list_of_what_is_in_it() {
    // Else what stands beside the list would use its own parts, and they it.
    for path in files(&source()).iter().filter(|path| path.ends_with("mod.rs")) {
        let code = code(path);
        let has_code = ["fn ", "struct ", "enum ", "impl "].iter().any(|word| code.contains(word));
        assert!(!has_code, "{}", path.display());
    }
}

#[test]
fn a_circle_is_found() {
    let edges = |pairs: &[(&str, &str)]| {
        circle(&pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect())
    };
    assert_eq!(edges(&[("a", "b"), ("b", "c"), ("a", "c")]), None);
    let found = edges(&[("a", "b"), ("b", "c"), ("c", "b")]).unwrap();
    assert!(found.contains(&"b".to_owned()) && found.contains(&"c".to_owned()), "{found:?}");
}

#[test]
fn a_use_is_found_in_code_and_not_in_comments() {
    let known = [["a", "b"], ["a", "c"], ["d", "e"]].map(|path| path.map(str::to_owned).to_vec());
    let known = known.into_iter().collect();
    let module = ["a", "b"].map(str::to_owned).to_vec();
    let code = "use super::c::Thing;\nfn f() { crate::d::e::g() }\n";
    let found: Vec<Module> = used(code, &module, &known).into_iter().collect();
    assert_eq!(found, [["a", "c"], ["d", "e"]].map(|path| path.map(str::to_owned).to_vec()));
}

#[test]
fn a_use_is_found_in_each_brace_of_a_group() {
    let path = |path: &str| -> Module { path.split('/').map(str::to_owned).collect() };
    let known = ["a", "a/b", "a/c", "a/c/d", "a/e", "f"].map(path).into_iter().collect();
    let uses = |code: &str| -> Vec<String> {
        let found = used(code, &path("a/b"), &known);
        found.iter().map(|module| module.join("/")).collect()
    };
    assert_eq!(uses("use crate::a::{c::Wake, e::Thing};"), ["a/c", "a/e"]);
    assert_eq!(
        uses("use crate::a::{\n    c::{self, Some, d::{One, Two}},\n    e,\n};"),
        ["a/c", "a/c/d", "a/e"]
    );
    assert_eq!(uses("use super::{c::Thing as Other, e::*};\nfn f() {}"), ["a/c", "a/e"]);
    assert_eq!(uses("use crate::{a::{e::Thing}, f::g};"), ["a/e", "f"]);
    assert_eq!(uses("if x == crate::f::Thing { super::c::go() }"), ["a/c", "f"]);
}
