//! What is known about the values of variables.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::super::marks::HERE;
use super::Check;
use super::arithmetic::{evaluated, targets};
use super::words::Shown;
use crate::loader::load::Load;

/// The prefix of the variables that differ between runs.
const OWN_PREFIX: &str = "WAYPOST_";

/// The variables that a command gets, with the values that are the same for every event.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given {
    pub(crate) env: BTreeMap<String, String>,
    /// Whether a value may make a word begin with `-`.
    pub(crate) allows_dash: bool,
    /// The inherited home.
    pub(crate) home: Option<String>,
    /// What the check finds that interpreters look for.
    pub(crate) loads: RefCell<BTreeSet<Load>>,
}

/// Everything in a command that sets variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Setters {
    /// The places of assignments: the hash of the text, and the position in it.
    pub(super) assigned: BTreeMap<String, BTreeSet<(u64, usize)>>,
    /// Variables that are set, or unset, in another way.
    pub(super) otherwise: BTreeSet<String>,
    /// Variables that arithmetic sets when it evaluates one of the values.
    pub(super) evaluated: BTreeSet<String>,
    /// Variables with a value of the event.
    pub(super) of_event: BTreeSet<String>,
    /// Whether there is arithmetic.
    pub(super) calculates: bool,
    /// Whether a program gets another environment: `env -i`, `sudo`.
    pub(super) clears: bool,
}

impl Setters {
    pub(super) fn add(&mut self, other: Self) {
        for (name, places) in other.assigned {
            self.assigned.entry(name).or_default().extend(places);
        }
        self.otherwise.extend(other.otherwise);
        self.evaluated.extend(other.evaluated);
        self.of_event.extend(other.of_event);
        self.calculates |= other.calculates;
        self.clears |= other.clears;
    }
}

/// The variables that have a known value at a place of a text.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) values: BTreeMap<String, Vec<String>>,
    /// Those that are known only in the list that is being read.
    pub(super) chained: Vec<String>,
    /// The hash of the text.
    pub(super) text: u64,
}

/// Whether a shell sets a variable of this name itself.
fn is_special(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "COLUMNS",
        "COMPREPLY",
        "COPROC",
        "DIRSTACK",
        "EUID",
        "FUNCNAME",
        "GROUPS",
        "HISTCMD",
        "HOSTNAME",
        "HOSTTYPE",
        "LINENO",
        "LINES",
        "MACHTYPE",
        "MAPFILE",
        "OPTARG",
        "OPTERR",
        "OPTIND",
        "OSTYPE",
        "PIPESTATUS",
        "PPID",
        "RANDOM",
        "REPLY",
        "SECONDS",
        "SHELLOPTS",
        "SHLVL",
        "SRANDOM",
        "UID",
        "_",
    ];
    const PREFIXES: &[&str] = &["BASH", "COMP_", "EPOCH", "READLINE_"];
    NAMES.contains(&name) || PREFIXES.iter().any(|it| name.starts_with(it))
}

pub(super) fn is_identifier(text: &str) -> bool {
    text.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
        && text.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
}

impl Check<'_> {
    /// The values of a variable here, if there is exactly one thing that gives it one.
    pub(super) fn value(&self, name: &str) -> Option<Vec<String>> {
        if is_special(name) || name.starts_with(OWN_PREFIX) {
            return None;
        }
        let setters = &self.setters;
        let is_evaluated = setters.calculates && setters.evaluated.contains(name);
        if setters.otherwise.contains(name) || is_evaluated {
            return None;
        }
        match setters.assigned.get(name).map_or(0, BTreeSet::len) {
            0 => self.inherited(name).or_else(|| {
                let assigned = self.is_first.then(|| self.scope.values.get(name).cloned());
                assigned.flatten()
            }),
            1 => self.scope.values.get(name).cloned(),
            _ => None,
        }
    }

    /// The value that a variable has when the command starts. A shell in it inherits it.
    fn inherited(&self, name: &str) -> Option<Vec<String>> {
        let is_folder = ["PWD", "OLDPWD"].contains(&name);
        if is_folder && !self.given.env.contains_key(name) {
            // Where the command goes is checked.
            return Some(vec![HERE.to_string()]);
        }
        if is_folder || (self.setters.clears && self.texts > 1) {
            return None;
        }
        let home = self.given.home.as_ref().filter(|_| name == "HOME");
        self.given.env.get(name).or(home).map(|it| vec![it.clone()])
    }

    /// Notes an assignment, which sets a variable only if `is_known` for good.
    pub(super) fn assign(
        &mut self,
        name: &str,
        value: &Shown,
        at: usize,
    ) -> Result<Option<Vec<String>>, String> {
        self.check_value(value)?;
        self.event_variable(name, value)?;
        let place = (self.scope.text, at);
        self.found.assigned.entry(name.to_owned()).or_default().insert(place);
        let values = self.assigned_values(value);
        if values.is_err() && ["OLDPWD", "PWD"].contains(&name) {
            self.away(&format!("{name}={:.80}", value.written()), "a folder that is computed");
        }
        Ok(values.ok())
    }

    /// Notes a variable that is set in another way.
    pub(super) fn unknown(&mut self, name: &str) {
        self.found.otherwise.insert(name.to_owned());
        if ["OLDPWD", "PWD"].contains(&name) {
            self.away(name, "a folder that is computed");
        }
    }

    /// Checks a value: where a number is expected, bash evaluates it.
    pub(super) fn check_value(&mut self, value: &Shown) -> Result<(), String> {
        let text = value.text();
        if evaluated(&text) {
            return Err(format!(
                "{} contains a subscript with a command, which arithmetic would run; put the command into a script of the project",
                value.quoted()
            ));
        }
        super::arithmetic::calculated(&text, false)?;
        self.found.evaluated.extend(targets(&text));
        Ok(())
    }
}
