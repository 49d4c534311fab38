//! The tables that are printed.

use std::io::{self, Write};

use crate::bootstrap::interval_of_mean;
use crate::measure::Measures;

/// One system on one collection.
#[derive(Debug)]
pub(crate) struct Row {
    setting: String,
    system: String,
    /// For each question.
    measures: Vec<Measures>,
}

impl Row {
    /// A system, with its measures for each question.
    pub(crate) fn new(setting: &str, system: &str, measures: Vec<Measures>) -> Self {
        Self { setting: setting.to_owned(), system: system.to_owned(), measures }
    }
}

/// A Markdown table, grouped by setting.
#[derive(Debug)]
pub(crate) struct Table {
    title: &'static str,
    rows: Vec<Row>,
}

impl Table {
    pub(crate) fn new(title: &'static str) -> Self {
        Self { title, rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Writes the table, with 95 % intervals in parentheses. The last column is the mean, over
    /// questions, of Waypost's hybrid nDCG@10 less that of the row.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n### {}\n", self.title)?;
        writeln!(
            out,
            "| collection | system | questions | R@5 | R@10 | R@20 | nDCG@10 | MRR | hybrid's lead |"
        )?;
        writeln!(out, "|---|---|---|---|---|---|---|---|---|")?;
        for row in &self.rows {
            let of_setting = |other: &&Row| other.setting == row.setting;
            let hybrid =
                self.rows.iter().filter(of_setting).find(|row| row.system == "Waypost hybrid");
            let lead = hybrid
                .filter(|hybrid| hybrid.system != row.system)
                .map_or_else(String::new, |hybrid| change(&row.measures, &hybrid.measures));
            let mean = Measures::mean(&row.measures);
            writeln!(
                out,
                "| {} | {} | {} | {:.3} | {:.3} | {:.3} | {} | {:.3} | {lead} |",
                row.setting,
                row.system,
                row.measures.len(),
                mean.recall_5,
                mean.recall_10,
                mean.recall_20,
                with_interval(&ndcg(&row.measures)),
                mean.reciprocal_rank,
            )?;
        }
        Ok(())
    }
}

/// How nDCG@10 changes from one system to another on the same questions: "+0.012 (0.003 to 0.021)".
pub(crate) fn change(from: &[Measures], to: &[Measures]) -> String {
    let changes: Vec<f64> =
        from.iter().zip(to).map(|(from, to)| to.ndcg_10 - from.ndcg_10).collect();
    let mean = changes.iter().sum::<f64>() / changes.len().max(1) as f64;
    let (low, high) = interval_of_mean(&changes);
    format!("{mean:+.3} ({low:.3} to {high:.3})")
}

fn ndcg(measures: &[Measures]) -> Vec<f64> {
    measures.iter().map(|measure| measure.ndcg_10).collect()
}

/// "0.606 (0.580 to 0.632)".
fn with_interval(values: &[f64]) -> String {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (low, high) = interval_of_mean(values);
    format!("{mean:.3} ({low:.3} to {high:.3})")
}
