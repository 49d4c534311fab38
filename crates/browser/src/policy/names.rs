//! The address classes that names have had.

use std::collections::HashMap;

use super::address::Class;

/// The maximum number of remembered names. Beyond it, an unknown name counts as one that was
/// public: requesting many names makes the browser forget none.
const NAMES_MAX: usize = 65_536;

/// A set of classes.
type Classes = u8;

fn only(class: Class) -> Classes {
    1 << class as u8
}

/// The classes of the addresses of each name, since it was first requested.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<String, Classes>);

impl Names {
    /// Records the present classes of a name, and returns whether it may be accessed: all are
    /// public, or it never was public and all are among the first ones that it had.
    pub(super) fn note(&mut self, name: &str, classes: &[Class]) -> bool {
        let public = only(Class::Public);
        let now = classes.iter().fold(0, |all, it| all | only(*it));
        let is_full = self.0.len() >= NAMES_MAX;
        let before = match self.0.get_mut(name) {
            Some(known) => {
                *known |= now & public;
                *known
            }
            None if is_full => public,
            None => {
                let first = if now & public == 0 { now } else { public };
                *self.0.entry(name.to_owned()).or_insert(first)
            }
        };
        now == public || (before & public == 0 && now & !before == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, NAMES_MAX, Names};

    #[test]
    fn many_lookups_change_no_known_class() {
        let mut names = Names::default();
        assert!(names.note("evil.example", &[Class::Public]));
        assert!(names.note("printer.example", &[Class::Private]));
        for number in 0..NAMES_MAX {
            names.note(&format!("{number}.example"), &[Class::Public]);
        }
        assert!(!names.note("evil.example", &[Class::Private]));
        assert!(names.note("printer.example", &[Class::Private]));
        assert!(!names.note("another.example", &[Class::Private]), "nothing is known of it");
        assert!(names.note("another.example", &[Class::Public]));
    }
}
