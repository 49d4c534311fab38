//! The names by which files refer to each other.

use crate::text::{short_hash, stem};
use crate::{Extract, Kind};

/// Extensions that links to documents may omit.
const DOCUMENTS: &[&str] = &["md", "mdx", "markdown", "rst", "txt", "adoc", "org", "norg"];

/// The key of a name, whatever its case.
pub(crate) fn name_key(name: &str) -> u64 {
    short_hash(name.to_lowercase().as_bytes())
}

/// The keys by which a file can be linked to: its path, stem, title and aliases, and a decision's
/// number.
pub(crate) fn own_keys(path: &str, extract: &Extract) -> Box<[u64]> {
    if extract.parser != crate::Parser::None {
        return Box::new([path_key(path)]);
    }
    let stem = stem(path);
    let mut keys = vec![path_key(path), name_key(stem), name_key(&extract.title)];
    keys.extend(extract.aliases.iter().map(|alias| name_key(alias)));
    if extract.kind == Kind::Decision
        && let Some(number) = first_number(stem)
    {
        keys.push(decision_key(number));
    }
    keys.sort_unstable();
    keys.dedup();
    keys.into()
}

/// The key that a link in the document at `path` points to.
pub(crate) fn link_key(path: &str, target: &str) -> Option<u64> {
    let target = target.split(['#', '?']).next().unwrap_or_default().trim();
    if target.is_empty() || target.contains("://") {
        return None;
    }
    let is_path = target.contains('/') || has_extension(target);
    if !is_path {
        return Some(name_key(target));
    }
    let from = if target.starts_with('/') {
        ""
    } else {
        path.rsplit_once('/').map_or("", |parts| parts.0)
    };
    let mut parts: Vec<&str> = from.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(path_key(&parts.join("/")))
}

/// The keys of what the document at `path` replaces when it states to replace `target`: links,
/// names, numbers.
pub(crate) fn replaced_keys(path: &str, target: &str) -> Vec<u64> {
    // `[Title](file.md)` names a file.
    let target = target.rsplit_once("](").map_or(target, |parts| parts.1.trim_end_matches(')'));
    let target = target.trim().trim_start_matches("[[").trim_end_matches("]]");
    let mut keys: Vec<u64> = link_key(path, target).into_iter().collect();
    keys.push(name_key(stem(target)));
    let short = target.len() <= 12;
    if let Some(number) = first_number(target).filter(|_| short) {
        keys.push(decision_key(number));
    }
    // A document does not replace itself.
    keys.retain(|key| *key != path_key(path) && *key != name_key(stem(path)));
    keys
}

fn path_key(path: &str) -> u64 {
    short_hash(format!("/{path}").as_bytes())
}

fn decision_key(number: u32) -> u64 {
    short_hash(format!("#{number}").as_bytes())
}

fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, it)| DOCUMENTS.contains(&it))
}

fn first_number(text: &str) -> Option<u32> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let digits = text[start..].split(|c: char| !c.is_ascii_digit()).next()?;
    // Longer ones are dates.
    if digits.len() <= 5 { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_from_where_they_stand() {
        let path = path_key("docs/guide.md");
        assert_eq!(link_key("docs/index.md", "guide.md#start"), Some(path));
        assert_eq!(link_key("docs/deep/a.md", "../guide.md"), Some(path));
        assert_eq!(link_key("a/b.md", "/docs/guide.md"), Some(path));
        assert_eq!(link_key("a.md", "../outside.md"), None);
        assert_eq!(link_key("a.md", "https://example.org/guide.md"), None);
        assert_eq!(link_key("a.md", "Guide"), Some(name_key("guide")));
    }

    #[test]
    fn a_decision_is_replaced_by_file_number_or_title() {
        let path = "docs/adr/0007-new.md";
        let has = |target: &str, key| replaced_keys(path, target).contains(&key);
        assert!(has("[Old](0003-old.md)", path_key("docs/adr/0003-old.md")));
        assert!(has("ADR-0003", decision_key(3)));
        assert!(has("3", decision_key(3)));
        assert!(has("[[Old way]]", name_key("old way")));
        assert!(!has("0007-new.md", name_key("0007-new")));
    }
}
