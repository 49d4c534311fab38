//! The head of a document: `key: value` between `---`, or `key = value` between `+++`.
//!
//! It reads the part of YAML and TOML that people use there: texts and lists in either notation,
//! nothing nested. So a title with a colon in it, which YAML forbids, is read as meant, and nothing
//! can expand in memory.

/// The largest head that is read.
const BYTES_MAX: usize = 16 << 10;

/// The most values of one key.
const VALUES_MAX: usize = 100;

/// The values in the head of a document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Frontmatter {
    fields: Vec<(String, Vec<String>)>,
    /// How many lines it takes, including its delimiters; 0 without a head.
    pub(super) lines: usize,
}

impl Frontmatter {
    /// The first value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.all(key).first().map(String::as_str)
    }

    pub(super) fn all(&self, key: &str) -> &[String] {
        self.fields.iter().find(|(it, _)| it == key).map_or(&[], |(_, values)| values)
    }

    /// The values of the first of these keys that is present.
    pub(super) fn any(&self, keys: &[&str]) -> &[String] {
        keys.iter().map(|key| self.all(key)).find(|all| !all.is_empty()).unwrap_or(&[])
    }

    /// Whether a key is present, with or without a value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.fields.iter().any(|(it, _)| it == key)
    }
}

/// Reads the head of a document. There is none if it does not end within 16 KiB.
pub(super) fn read(text: &str) -> Frontmatter {
    let mut lines = text.lines();
    let (separator, ends): (char, &[&str]) = match lines.next().map(str::trim_end) {
        Some("---") => (':', &["---", "..."]),
        Some("+++") => ('=', &["+++"]),
        _ => return Frontmatter::default(),
    };
    let mut head = Frontmatter { fields: Vec::new(), lines: 1 };
    let mut bytes = 0;
    let mut list = None;
    for line in lines {
        head.lines += 1;
        bytes += line.len() + 1;
        if ends.contains(&line.trim_end()) {
            return head;
        }
        if bytes > BYTES_MAX {
            break;
        }
        let item = line.trim_start().strip_prefix("- ");
        let inside = line.starts_with([' ', '\t']) || item.is_some();
        match (inside, item, list) {
            (true, Some(item), Some(at)) => push(&mut head.fields[at as usize].1, item),
            // A bracketed list over several lines.
            (true, None, Some(at)) if separator == '=' => {
                for item in line.trim().trim_end_matches(']').split(',') {
                    push(&mut head.fields[at as usize].1, item);
                }
            }
            (true, ..) => {}
            (false, ..) => {
                let Some((key, value)) = line.split_once(separator) else { continue };
                let key = key.trim().trim_matches('"').to_lowercase().replace('-', "_");
                let value = value.trim();
                list = (value.is_empty() || value == "[").then_some(head.fields.len() as u32);
                head.fields.push((key, values(value)));
            }
        }
    }
    Frontmatter::default()
}

/// The values of a key on one line.
fn values(text: &str) -> Vec<String> {
    let mut values = Vec::new();
    match text.strip_prefix('[') {
        Some(list) => {
            for item in list.trim_end_matches(']').split(',') {
                push(&mut values, item);
            }
        }
        // The lines below are a text, not a value.
        None if text.starts_with(['|', '>', '&', '*', '{']) => {}
        None => push(&mut values, text),
    }
    values
}

fn push(values: &mut Vec<String>, text: &str) {
    let text = text.trim();
    let quoted = ['"', '\''].iter().find_map(|quote| {
        let rest = text.strip_prefix(*quote)?;
        rest.split_once(*quote).map(|(value, _)| value)
    });
    let value = quoted.unwrap_or_else(|| text.split(" #").next().unwrap_or(text).trim());
    if !value.is_empty() && values.len() < VALUES_MAX {
        values.push(value.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_lists_are_read() {
        let head = read(
            "---\ntitle: Store: why we chose it\ntags: [a, \"b c\"]\naliases:\n  - One\n  - 'Two'\nstatus: accepted # since May\nsuperseded-by: \"0007\"\ndescription: >\n  long: text\nempty:\n---\n# Body\n",
        );
        assert_eq!(head.get("title"), Some("Store: why we chose it"));
        assert_eq!(head.all("tags"), ["a", "b c"]);
        assert_eq!(head.any(&["alias", "aliases"]), ["One", "Two"]);
        assert_eq!(head.get("status"), Some("accepted"));
        assert_eq!(head.get("superseded_by"), Some("0007"));
        assert_eq!(head.get("long"), None);
        assert!(head.has("empty") && !head.has("other"));
        assert_eq!(head.lines, 12);
    }

    #[test]
    fn toml_is_read_too() {
        let head =
            read("+++\ntitle = \"Launch\"\ntags = [\n  \"a\",\n  \"b\",\n]\ndraft = true\n+++\n");
        assert_eq!(head.get("title"), Some("Launch"));
        assert_eq!(head.all("tags"), ["a", "b"]);
        assert_eq!(head.get("draft"), Some("true"));
    }

    #[test]
    fn without_an_end_there_is_none() {
        assert_eq!(read("---\ntitle: x\n"), Frontmatter::default());
        assert_eq!(read("title: x\n---\n"), Frontmatter::default());
        assert_eq!(read(&format!("---\n{}---\n", "a: b\n".repeat(4000))), Frontmatter::default());
        assert_eq!(read("---\n---\n").lines, 2);
    }

    #[test]
    fn references_are_not_followed() {
        let head = read("---\na: &a [x, x]\nb: *a\n---\n");
        assert_eq!((head.all("a").len(), head.all("b").len()), (0, 0));
    }
}
