//! Selectors: CSS, with ` >>> ` for the step into a frame or a shadow root.

use std::fmt;

use crate::Problem;

/// The longest selector, in bytes.
pub const SELECTOR_BYTES_MAX: usize = 4096;
/// The maximum number of steps into frames and shadow roots.
pub const STEPS_MAX: usize = 16;

/// A selector: `#login`, or `iframe#pay >>> input[name=card]`. It is always passed as data; the
/// engine checks its syntax.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Selector {
    steps: Vec<String>,
}

impl Selector {
    /// Parses a selector.
    ///
    /// # Errors
    /// [`ProblemKind::Invalid`](crate::ProblemKind::Invalid) if it is empty, has an empty step, is
    /// too long or contains a control character.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        if text.len() > SELECTOR_BYTES_MAX {
            return Err(Problem::invalid(format!(
                "selector: {} bytes; {SELECTOR_BYTES_MAX} are allowed",
                text.len()
            )));
        }
        if text.chars().any(|c| c.is_control() && !c.is_whitespace()) {
            return Err(Problem::invalid("selector: contains a control character"));
        }
        let steps: Vec<String> = text.split(">>>").map(|part| part.trim().to_owned()).collect();
        if steps.iter().any(String::is_empty) {
            return Err(Problem::invalid(
                "selector: empty; expected CSS, such as `#login` or `form button`",
            ));
        }
        if steps.len() > STEPS_MAX {
            return Err(Problem::invalid(format!(
                "selector: more than {STEPS_MAX} steps separated by >>>"
            )));
        }
        Ok(Self { steps })
    }

    /// The steps: each but the last one finds a frame or the host of a shadow root.
    #[must_use]
    pub fn steps(&self) -> &[String] {
        &self.steps
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.steps.join(" >>> "))
    }
}
