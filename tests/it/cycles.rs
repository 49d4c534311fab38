//! Cycles between the files of a crate.
//!
//! Files that import each other in a circle can only be read, tested and changed together. A parent
//! and the few files below it that share its types may form a cycle; larger ones are not allowed.
//!
//! The scanner reads paths that begin with `crate`, `super` or `self`, outside comments, literals and
//! `#[cfg(test)]` items. A path imports the file of its longest prefix that is a module. Names that
//! the root of a crate re-exports are not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::{read, tracked};

/// The most files that may form a cycle.
const FILES_MAX: usize = 4;

/// Packages with a larger cycle, and its number of files. A number may only fall: when a cycle
/// shrinks, lower or remove its entry.
const KNOWN: &[(&str, usize)] = &[];

/// The path of a module in its crate; the root's is empty.
type Module<'a> = Vec<&'a str>;

/// Each file's module, and the modules of the files that it imports.
type Imports<'a> = BTreeMap<Module<'a>, BTreeSet<Module<'a>>>;

#[test]
fn files_of_a_crate_form_no_large_cycle() {
    let mut packages: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for path in tracked(".rs") {
        if let Some((package, module)) = place(&path) {
            packages.entry(package).or_default().insert(module, read(&path));
        }
    }
    let mut known: BTreeMap<&str, usize> = KNOWN.iter().copied().collect();
    let mut wrong = Vec::new();
    for (package, sources) in &packages {
        let listed = known.remove(package.as_str());
        let largest = largest_cycle(&imports(sources));
        let files = largest.len();
        if files > listed.unwrap_or(FILES_MAX) {
            let names: Vec<String> = largest.iter().map(|largest| largest.join("::")).collect();
            wrong.push(format!("{package}: a cycle of {files} files: {}", names.join(", ")));
        } else if listed.is_some_and(|listed| files < listed) {
            wrong.push(format!("{package}: the largest cycle has {files} files; update KNOWN"));
        }
    }
    wrong.extend(known.keys().map(|key| format!("{key}: not a package; update KNOWN")));
    assert!(wrong.is_empty(), "at most {FILES_MAX} files may form a cycle: {wrong:#?}");
}

#[test]
fn the_scanner_finds_imports_in_code_only() {
    let sources = [
        ("", "mod a; pub use self::a::A;"),
        ("a", "use crate::{b::{B, c::C as D}, x}; fn f(it: &'static str) { super::e::<u8>() }"),
        ("b", "// use crate::a;\n/* crate::a /* crate::a */ */ const S: &str = r#\"crate::a\"#;"),
        ("b::c", "#[cfg(test)]\nmod tests { use crate::a; }\nfn f() { super::super::e::go('{') }"),
        ("e", "use std::a; use crate::unknown; #[cfg(test)] use super::a; use super::b::c;"),
    ];
    let sources = sources.map(|(module, text)| (module.to_owned(), text.to_owned())).into();
    let found: Vec<(String, Vec<String>)> = imports(&sources)
        .into_iter()
        .map(|(from, to)| (from.join("::"), to.iter().map(|to| to.join("::")).collect()))
        .collect();
    let expected = [
        ("", vec!["a"]),
        ("a", vec!["b", "b::c", "e"]),
        ("b", vec![]),
        ("b::c", vec!["e"]),
        ("e", vec!["b::c"]),
    ];
    let expected = expected
        .map(|(from, to)| (from.to_owned(), to.into_iter().map(str::to_owned).collect::<Vec<_>>()));
    assert_eq!(found, expected);
    let cycle = largest_cycle(&imports(&sources));
    assert_eq!(cycle, [vec!["b", "c"], vec!["e"]].into());
}

/// The package and the module of a source file; none for tests.
fn place(path: &Path) -> Option<(String, String)> {
    let path = path.to_str()?.strip_suffix(".rs")?;
    let (package, file) = path.split_once("/src/")?;
    let is_test = file.split('/').any(|part| part == "tests");
    let module =
        if matches!(file, "lib" | "main") { String::new() } else { file.replace('/', "::") };
    (!is_test).then(|| (package.to_owned(), module))
}

/// What each file of a crate imports, by the text of each module.
fn imports(sources: &BTreeMap<String, String>) -> Imports<'_> {
    let modules: BTreeSet<Module<'_>> = sources.keys().map(|key| segments(key)).collect();
    let mut imports = Imports::new();
    for (module, text) in sources {
        let module = segments(module);
        let mut tokens = code(text);
        tokens.reverse();
        let mut found = BTreeSet::new();
        while let Some(token) = tokens.pop() {
            let base = match token {
                "crate" => vec![],
                "self" => module.clone(),
                "super" => parent(&module),
                _ => continue,
            };
            if tokens.last() == Some(&"::") {
                tokens.pop();
                read_path(&mut tokens, base, &mut found);
            }
        }
        let files = found.into_iter().filter_map(|path| {
            (1..=path.len())
                .rev()
                .map(|number| path[..number].to_vec())
                .find(|path| modules.contains(path))
        });
        imports.insert(module.clone(), files.filter(|file| *file != module).collect());
    }
    imports
}

fn segments(module: &str) -> Module<'_> {
    module.split("::").filter(|part| !part.is_empty()).collect()
}

fn parent<'a>(module: &[&'a str]) -> Module<'a> {
    module.split_last().map(|(_, parent)| parent.to_vec()).unwrap_or_default()
}

/// Takes a path or a tree of paths off reversed tokens.
fn read_path<'a>(
    tokens: &mut Vec<&'a str>,
    mut path: Module<'a>,
    found: &mut BTreeSet<Module<'a>>,
) {
    while let Some(token) = tokens.pop_if(|token| *token == "{" || is_word(token)) {
        if token == "{" {
            while tokens.last().is_some_and(|token| *token != "}") {
                read_path(tokens, path.clone(), found);
                // What is left of a branch: a comma, a star, a new name.
                while tokens.pop_if(|token| !matches!(*token, "," | "}")).is_some() {}
                tokens.pop_if(|token| *token == ",");
            }
            tokens.pop();
            return;
        }
        match token {
            "super" => path = parent(&path),
            "self" => {}
            _ => path.push(token),
        }
        if tokens.pop_if(|token| *token == "::").is_none() {
            break;
        }
    }
    found.insert(path);
}

/// The tokens of a source without comments, literals and `#[cfg(test)]` items.
fn code(text: &str) -> Vec<&str> {
    const ONLY_IN_TESTS: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut tokens = Vec::new();
    let mut rest = text;
    // How deep in brackets the end of a test item is looked for.
    let mut skipped: Option<i32> = None;
    while let Some((token, after)) = next_token(rest) {
        rest = after;
        let Some(depth) = &mut skipped else {
            tokens.push(token);
            if tokens.ends_with(&ONLY_IN_TESTS) {
                tokens.truncate(tokens.len() - ONLY_IN_TESTS.len());
                skipped = Some(0);
            }
            continue;
        };
        match token {
            "{" | "(" | "[" => *depth += 1,
            "}" | ")" | "]" => *depth -= 1,
            _ => {}
        }
        if *depth < 0 || *depth == 0 && matches!(token, ";" | "}") {
            skipped = None;
        }
    }
    tokens
}

/// The next token that is neither a comment nor a literal, and the text after it.
fn next_token(text: &str) -> Option<(&str, &str)> {
    let mut rest = text.trim_start();
    loop {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment_length(rest)
        } else {
            literal_length(rest)
        };
        if length == 0 {
            break;
        }
        rest = rest[length..].trim_start();
    }
    let word = rest.find(|it| !is_word_char(it)).unwrap_or(rest.len());
    let length = match word {
        0 if rest.starts_with("::") => 2,
        0 => rest.chars().next()?.len_utf8(),
        _ => word,
    };
    Some(rest.split_at(length))
}

fn is_word(token: &str) -> bool {
    token.starts_with(is_word_char)
}

fn is_word_char(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
}

/// The length of a block comment, with those inside it.
fn comment_length(text: &str) -> usize {
    let mut depth = 0;
    for (at, _) in text.match_indices(['/', '*']) {
        match text.get(at..at + 2) {
            Some("/*") => depth += 1,
            Some("*/") if depth == 1 => return at + 2,
            Some("*/") => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of the string or character that a text begins with; 0 if it begins with something else.
fn literal_length(text: &str) -> usize {
    let body = text.trim_start_matches(['b', 'c', 'r']);
    let hashes = body.len() - body.trim_start_matches('#').len();
    let before = text.len() - body.len();
    let is_raw = text[..before].ends_with('r');
    if is_raw && body[hashes..].starts_with('"') {
        let end = format!("\"{}", "#".repeat(hashes));
        let open = before + hashes + 1;
        return text[open..].find(&end).map_or(text.len(), |text| open + text + end.len());
    }
    let quote = match body.chars().next() {
        Some('"') => '"',
        // A lifetime has no second quote after its first character.
        Some('\'') if body[1..].starts_with('\\') || body[1..].chars().nth(1) == Some('\'') => '\'',
        _ => return 0,
    };
    let mut is_escaped = false;
    for (at, it) in body.char_indices().skip(1) {
        match it {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if it == quote => return before + at + it.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// The files of the largest cycle: those that reach each other.
fn largest_cycle<'a>(imports: &Imports<'a>) -> BTreeSet<Module<'a>> {
    let reached: Imports<'a> =
        imports.keys().map(|key| (key.clone(), reached(imports, key))).collect();
    let cycle = |from: &Module<'a>| -> BTreeSet<Module<'a>> {
        let returns = |module: &&Module<'a>| reached[*module].contains(from);
        reached[from].iter().filter(returns).cloned().collect()
    };
    imports.keys().map(cycle).max_by_key(BTreeSet::len).unwrap_or_default()
}

/// The modules that one imports, directly or not.
fn reached<'a>(imports: &Imports<'a>, from: &Module<'a>) -> BTreeSet<Module<'a>> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in &imports[module] {
            if reached.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    reached
}
