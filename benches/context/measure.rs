//! What is counted, and the table of it.

use std::collections::BTreeMap;
use std::io::{self, Write};

/// How well one question was answered.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measures {
    pub(crate) reciprocal_rank: f64,
    pub(crate) hit_at_10: f64,
    pub(crate) recall_at_10: f64,
    pub(crate) recall_at_30: f64,
}

impl Measures {
    /// Of the paths of the items, the best first: a file's rank is that of its first item among
    /// files.
    pub(crate) fn of(paths: &[String], relevant: &[String]) -> Self {
        let mut files: Vec<&String> = Vec::new();
        for path in paths {
            if !files.contains(&path) {
                files.push(path);
            }
        }
        let found = |k: usize| {
            relevant
                .iter()
                .filter(|relevant| files.iter().take(k).any(|file| file == relevant))
                .count()
        };
        let first = files.iter().position(|file| relevant.contains(file));
        Self {
            reciprocal_rank: first.map_or(0.0, |first| 1.0 / (first as f64 + 1.0)),
            hit_at_10: f64::from(u8::from(found(10) > 0)),
            recall_at_10: found(10) as f64 / relevant.len().max(1) as f64,
            recall_at_30: found(30) as f64 / relevant.len().max(1) as f64,
        }
    }
}

/// Means by system and group.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: BTreeMap<(usize, String, String), Vec<Measures>>,
    systems: Vec<String>,
}

impl Table {
    /// Counts a question for each of some groups.
    pub(crate) fn add(&mut self, system: &str, groups: &[&str], measures: Measures) {
        let place = self.systems.iter().position(|other| other == system).unwrap_or_else(|| {
            self.systems.push(system.to_owned());
            self.systems.len() - 1
        });
        for group in groups {
            let key = (place, system.to_owned(), (*group).to_owned());
            self.rows.entry(key).or_default().push(measures);
        }
    }

    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "| system | questions | | MRR | hit@10 | R@10 | R@30 |")?;
        writeln!(out, "|---|---|---|---|---|---|---|")?;
        for ((_, system, group), all) in &self.rows {
            let count = all.len() as f64;
            let mean = |of: fn(&Measures) -> f64| all.iter().map(of).sum::<f64>() / count;
            writeln!(
                out,
                "| {system} | {group} | {count} | {:.3} | {:.3} | {:.3} | {:.3} |",
                mean(|it| it.reciprocal_rank),
                mean(|it| it.hit_at_10),
                mean(|it| it.recall_at_10),
                mean(|it| it.recall_at_30),
            )?;
        }
        Ok(())
    }
}
