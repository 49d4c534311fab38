//! Which files a change touches, as far as names show it.
//!
//! Each row is an existing member of a family that grows: a link kind without a role of its own, a
//! route, an action of flows. A new member is named in the same files, so a row that gets longer
//! makes every such change larger. The table in CONTRIBUTING.md has the whole lists.

use std::collections::BTreeSet;

use crate::{read, tracked};

/// A name, and the source files that contain it.
const NAMED_IN: &[(&str, &[&str])] = &[
    // A link kind.
    ("CausedBy", &["crates/api/src/memory/link.rs", "crates/memory/src/codec.rs"]),
    // A scope, which the table of routes and the tools use and the tokens of runs have.
    (
        "ContextRead",
        &[
            "bins/service/src/flows/grants.rs",
            "bins/service/src/http/routes/mcp/resources.rs",
            "bins/service/src/http/routes/mcp/tools/context.rs",
            "bins/service/src/http/wire.rs",
            "crates/api/src/routes.rs",
            "crates/api/src/tokens.rs",
            "crates/auth/src/scope.rs",
        ],
    ),
    // An action of flows, and its task.
    ("MemoryAdd", &["crates/flows/src/action.rs", "crates/flows/src/action/memory_add.rs"]),
    ("AddMemory", &["bins/service/src/flows/tasks.rs", "crates/flows/src/action.rs"]),
    // A route, and the command that calls it.
    (
        "COUNT_MEMORIES",
        &[
            "bins/ctl/src/commands/memory.rs",
            "bins/service/src/http/routes.rs",
            "crates/api/src/routes.rs",
        ],
    ),
    // The limit of a memory's field.
    (
        "SESSION_CHARS_MAX",
        &[
            "bins/ctl/src/commands/hook/input.rs",
            "crates/api/src/limits.rs",
            "crates/memory/src/limits.rs",
        ],
    ),
    // A setting.
    ("listeners_max", &["bins/service/src/wiring.rs", "crates/project/src/declared.rs"]),
    // A subcommand of ctl.
    ("HistoryArgs", &["bins/ctl/src/commands.rs", "bins/ctl/src/commands/memory.rs"]),
    // A grammar.
    ("tree_sitter_ruby", &["crates/context/src/extract/code/grammars.rs"]),
    // An architecture of embedding models.
    (
        "DistilBert",
        &["crates/embedding/src/model/names.rs", "crates/embedding/src/recipe/config.rs"],
    ),
    // A cue of ranking, and its weight.
    ("tells_time", &["crates/memory/src/search/candidates.rs", "crates/ranking/src/cues.rs"]),
    ("time_weight", &["crates/memory/src/params.rs", "crates/memory/src/search/candidates.rs"]),
];

#[test]
fn a_member_of_a_growing_family_is_named_in_few_files() {
    let sources: Vec<(String, String)> = tracked(".rs")
        .iter()
        .filter_map(|path| Some((path.to_str()?.to_owned(), read(path))))
        .filter(|(path, _)| path.contains("/src/") && !path.contains("/tests"))
        .collect();
    for (name, files) in NAMED_IN {
        let found = sources.iter().filter(|(_, text)| has_word(text, name));
        let found: BTreeSet<&str> = found.map(|(path, _)| path.as_str()).collect();
        let expected: BTreeSet<&str> = files.iter().copied().collect();
        assert_eq!(found, expected, "files that name {name} on the left, NAMED_IN on the right");
    }
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}
