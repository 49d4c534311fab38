//! How well search finds without each of its signals.

use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::Arc;

use anyhow::Result;
use waypost_memory::{SearchMode, SearchParams};

use crate::judge;
use crate::store::Filled;
use crate::table::change;
use crate::vectors::CachedModel;

/// A search without one signal.
struct Without {
    signal: &'static str,
    mode: SearchMode,
    params: fn(&mut SearchParams),
}

const fn without(signal: &'static str, params: fn(&mut SearchParams)) -> Without {
    Without { signal, mode: SearchMode::Hybrid, params }
}

const SIGNALS: [Without; 12] = [
    Without { signal: "vectors", mode: SearchMode::Lexical, params: |_| () },
    Without { signal: "words", mode: SearchMode::Semantic, params: |_| () },
    without("feedback: terms of the first hits by words", |params| params.feedback_documents = 0),
    without("second round: terms of the first hits by all signals", |params| {
        params.second_documents = 0;
    }),
    without("labels in titles", |params| params.label_weight = 0.0),
    without("query words in titles", |params| params.title_weight = 0.0),
    without("length", |params| params.substance_weight = 0.0),
    without("statements before questions", |params| params.telling_weight = 0.0),
    without("a time where one is asked for", |params| params.time_weight = 0.0),
    without("dates", |params| params.date_weight = 0.0),
    without("neighbours in the session", |params| params.neighbour_weights = [0.0; 2]),
    without("answers after questions in the session", |params| params.answer_weight = 0.0),
];

/// A table of how nDCG@10 changes without each signal.
#[derive(Debug, Default)]
pub(crate) struct Ablation {
    settings: Vec<&'static str>,
    /// For each signal, the change in each setting.
    changes: [Vec<String>; SIGNALS.len()],
}

impl Ablation {
    /// Adds a column: the filled store, measured without each signal.
    pub(crate) fn measure(
        &mut self,
        setting: &'static str,
        mut filled: Filled<'_>,
        relevant: &[HashSet<usize>],
        model: &Arc<CachedModel>,
    ) -> Result<()> {
        self.settings.push(setting);
        let all = judge(&filled.rankings(SearchMode::Hybrid)?, relevant);
        for (without, changes) in SIGNALS.iter().zip(&mut self.changes) {
            let mut params = SearchParams::default();
            (without.params)(&mut params);
            filled = filled.with_params(params, model.embedder())?;
            let rest = judge(&filled.rankings(without.mode)?, relevant);
            changes.push(change(&all, &rest));
        }
        Ok(())
    }

    /// Writes the table.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n### Without one signal: change of nDCG@10\n")?;
        writeln!(out, "| without | {} |", self.settings.join(" | "))?;
        writeln!(out, "|---|{}", "---|".repeat(self.settings.len()))?;
        for (without, changes) in SIGNALS.iter().zip(&self.changes) {
            writeln!(out, "| {} | {} |", without.signal, changes.join(" | "))?;
        }
        Ok(())
    }
}
