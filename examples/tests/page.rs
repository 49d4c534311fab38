//! `docs/as-a-library.md` shows the examples as they are: a block after `<!-- examples/NAME -->` is
//! that file, without its test. `UPDATE_EXPECT=1` rewrites the blocks.

use std::fs;
use std::path::Path;

const MARK: &str = "<!-- examples/";

#[test]
fn the_page_shows_the_examples_as_they_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = folder.join("../docs/as-a-library.md");
    let written = fs::read_to_string(&page).unwrap();
    let mut fresh = String::new();
    let mut shown = Vec::new();
    let mut lines = written.lines();
    while let Some(line) = lines.next() {
        fresh.push_str(line);
        fresh.push('\n');
        let Some(name) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        let fence = lines.next().expect("a code block follows the mark");
        assert!(fence.starts_with("```"), "a code block follows the mark of {name}: {fence}");
        let end = lines.find(|line| *line == "```").expect("the block ends");
        let example = fs::read_to_string(folder.join(name)).unwrap();
        let program = example.split("\n#[test]\n").next().unwrap_or_default();
        for part in [fence, program.trim_end(), end] {
            fresh.push_str(part);
            fresh.push('\n');
        }
        shown.push(name.to_owned());
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&page, &fresh).unwrap();
        return;
    }
    assert!(
        written == fresh,
        "docs/as-a-library.md differs from the examples; run `UPDATE_EXPECT=1 cargo test -p waypost-examples --test page`"
    );
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap().to_owned();
        let is_program =
            path.extension().is_some_and(|extension| extension == "rs" || extension == "sh");
        let is_example = is_program && name != "lib.rs";
        assert!(!is_example || shown.contains(&name), "docs/as-a-library.md does not show {name}");
    }
}
