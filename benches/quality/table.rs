//! The tables that are printed.

use std::io::{self, Write};

use crate::measure::Measures;

/// One system on one collection.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) setting: String,
    pub(crate) system: String,
    pub(crate) questions: usize,
    pub(crate) measures: Measures,
}

impl Row {
    /// The mean over questions.
    pub(crate) fn new(setting: &str, system: &str, all: &[Measures]) -> Self {
        Self {
            setting: setting.to_owned(),
            system: system.to_owned(),
            questions: all.len(),
            measures: Measures::mean(all),
        }
    }
}

/// A Markdown table, grouped by setting.
#[derive(Debug)]
pub(crate) struct Table {
    title: &'static str,
    rows: Vec<Row>,
    peers: Vec<Row>,
}

impl Table {
    pub(crate) fn new(title: &'static str) -> Self {
        Self { title, rows: Vec::new(), peers: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Other systems' rows: each goes under the setting of its name.
    pub(crate) fn add_peers(&mut self, rows: Vec<Row>) {
        self.peers.extend(rows);
    }

    /// Writes the table. The last column is Waypost's hybrid nDCG@10 divided by the row's.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n### {}\n", self.title)?;
        writeln!(
            out,
            "| collection | system | questions | R@5 | R@10 | R@20 | nDCG@10 | MRR | hybrid is |"
        )?;
        writeln!(out, "|---|---|---|---|---|---|---|---|---|")?;
        let mut settings: Vec<&str> = self.rows.iter().map(|it| it.setting.as_str()).collect();
        settings.dedup();
        for setting in settings {
            let of_setting = |it: &&Row| it.setting == setting;
            let rows: Vec<&Row> = self.rows.iter().chain(&self.peers).filter(of_setting).collect();
            let hybrid = rows.iter().find(|it| it.system == "Waypost hybrid");
            for row in &rows {
                let it = row.measures;
                let ratio = hybrid.filter(|_| it.ndcg_10 > 0.0).map_or(String::new(), |hybrid| {
                    format!("{:.2} ×", hybrid.measures.ndcg_10 / it.ndcg_10)
                });
                writeln!(
                    out,
                    "| {} | {} | {} | {:.3} | {:.3} | {:.3} | {:.3} | {:.3} | {ratio} |",
                    row.setting,
                    row.system,
                    row.questions,
                    it.recall_5,
                    it.recall_10,
                    it.recall_20,
                    it.ndcg_10,
                    it.reciprocal_rank,
                )?;
            }
        }
        Ok(())
    }
}
