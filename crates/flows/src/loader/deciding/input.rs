//! What a program reads from its input.

use tree_sitter::Node;

use super::Check;
use super::words::Shown;
use crate::command::tree::children;

/// A redirection of the input.
#[derive(Debug, Clone)]
pub(super) enum Input {
    /// A text in which the outer shell expands variables.
    Text(Shown),
    /// A text as it is.
    Exact(String),
    File(Shown),
    /// A descriptor.
    Other,
}

impl Check<'_> {
    /// Checks the commands that a shell reads from its input.
    pub(super) fn read_commands(&mut self, shell: &str) -> Result<(), String> {
        if self.is_first && self.input.is_empty() {
            return Ok(());
        }
        let inputs = std::mem::take(&mut self.input);
        if inputs.is_empty() || inputs.iter().any(|it| matches!(it, Input::Other)) {
            return Err(format!(
                "{shell} reads commands from its input, which is not known here; name a script of the project, write {shell} -c '…', or give {shell} itself a here-document or a file with a literal name (<)"
            ));
        }
        for it in inputs {
            match it {
                Input::Text(it) => self.run_code(&it)?,
                Input::Exact(it) => self.code(&it)?,
                Input::File(it) => self.script(&it)?,
                Input::Other => {}
            }
        }
        Ok(())
    }

    /// Checks the name of a script.
    pub(super) fn script(&mut self, word: &Shown) -> Result<(), String> {
        for name in self.file(word)? {
            if name.starts_with("/dev/") || name.starts_with("/proc/") {
                return Err(format!(
                    "{} is no file of commands, but what the command reads; name a script of the project",
                    word.quoted()
                ));
            }
            self.look(&name);
        }
        Ok(())
    }
}

/// The inputs of a simple command: its own redirections, and those of the list that it ends.
pub(super) fn inputs(command: Node<'_>, around: &[Node<'_>], text: &str) -> Vec<Input> {
    let mut found = Vec::new();
    for it in children(command).chain(around.iter().copied()) {
        add_input(it, text, &mut found);
    }
    found
}

fn add_input(redirect: Node<'_>, text: &str, found: &mut Vec<Input>) {
    let of = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default();
    let parts: Vec<Node<'_>> = children(redirect).collect();
    let is_of_input = parts
        .iter()
        .find(|it| it.kind() == "file_descriptor")
        .is_none_or(|it| of(*it).trim_start_matches('0').is_empty());
    let word = parts.iter().find(|it| it.is_named() && it.kind() != "file_descriptor");
    let has = |kinds: &[&str]| parts.iter().any(|it| kinds.contains(&it.kind()));
    match redirect.kind() {
        "file_redirect" if is_of_input && has(&["<"]) => {
            found.push(word.map_or(Input::Other, |it| Input::File(Shown::new(of(*it)))));
        }
        "file_redirect" if is_of_input && has(&["<&", "<&-"]) => found.push(Input::Other),
        "herestring_redirect" if is_of_input => {
            found.push(word.map_or(Input::Other, |it| Input::Text(Shown::new(of(*it)))));
        }
        "heredoc_redirect" => {
            let body = parts.iter().find(|it| it.kind() == "heredoc_body").map_or("", |it| of(*it));
            let start =
                parts.iter().find(|it| it.kind() == "heredoc_start").map_or("", |it| of(*it));
            if is_of_input && start.contains(['\'', '"', '\\']) {
                found.push(Input::Exact(body.to_owned()));
            } else if is_of_input {
                // The outer shell expands its variables, as in double quotes.
                let quoted = format!("\"{}\"", body.replace('"', "\\\""));
                found.push(Input::Text(Shown::new(&quoted)));
            }
            for it in parts {
                add_input(it, text, found);
            }
        }
        _ => {}
    }
}
