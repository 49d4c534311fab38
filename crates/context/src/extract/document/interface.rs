//! OpenAPI documents: reduced from thousands of lines to the title, the paths and their purposes.

use crate::Kind;
use crate::extract::Chunk;

/// The most operations listed.
const NAMES_MAX: usize = 200;

/// An OpenAPI document as one chunk; `None` for any other file.
pub(super) fn chunk(path: &str, text: &str) -> Option<Chunk> {
    [".yaml", ".yml", ".json"].iter().any(|it| path.ends_with(it)).then_some(())?;
    let mut title = None;
    let mut names: Vec<String> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        let Some((key, value)) = line.split_once(':') else { continue };
        let (key, value) = (word(key), word(value));
        match key {
            "title" if title.is_none() && !value.is_empty() => title = Some(value.to_owned()),
            "summary" | "operationId" if !value.is_empty() => names.push(format!("  {value}")),
            _ if key.starts_with('/') => names.push(key.to_owned()),
            _ => {}
        }
        if names.len() >= NAMES_MAX {
            break;
        }
    }
    let title = title.unwrap_or_else(|| path.to_owned());
    Some(Chunk {
        kind: Kind::Spec,
        name: title.clone(),
        line: 1,
        end_line: text.lines().count().max(1) as u32,
        content: std::iter::once(title.clone()).chain(names).collect::<Vec<_>>().join("\n"),
        title,
        signature: 0..0,
        date: None,
    })
}

fn word(text: &str) -> &str {
    text.trim().trim_end_matches([',', '{']).trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_summaries_are_named() {
        let yaml = "openapi: 3.1.0\ninfo:\n  title: Pets\npaths:\n  /pets:\n    get:\n      summary: List pets\n";
        assert_eq!(chunk("openapi.yaml", yaml).expect("one").content, "Pets\n/pets\n  List pets");
        let json = "{\n \"info\": {\"x\": 1},\n \"title\": \"Pets\",\n \"/pets\": {\n \"summary\": \"List pets\",\n";
        assert_eq!(chunk("openapi.json", json).expect("one").content, "Pets\n/pets\n  List pets");
        assert_eq!(chunk("openapi.md", yaml), None);
    }
}
