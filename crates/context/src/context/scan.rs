//! Updating the index from the folder.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use waypost_time::Timestamp;

use super::{Cancel, Context};
use crate::discover::Places;
use crate::index::{FileFact, Prepared};
use crate::prepare::prepare;
use crate::text::hash;
use crate::{Extractor, Found, Result, Rules, ScanReport, Skip, Source, Stat, read, walk};

/// A file written within this many seconds before it was read may have been written again without a
/// change of its times.
const RACY_SECONDS: i64 = 2;
/// More changed paths than this count as a change of the whole folder.
const PATHS_MAX: usize = 512;

/// The progress of a scan's threads.
#[derive(Debug, Default)]
struct Tally {
    indexed: AtomicU64,
    removed: AtomicU64,
    failed: Mutex<Option<crate::Error>>,
    cancelled: AtomicBool,
}

impl FileFact {
    /// Whether a file with this state is the one that was read.
    pub(super) fn is_still(&self, stat: &Stat) -> bool {
        self.stat == *stat
            && stat.modified_ns / 1_000_000_000 < self.seen_at.as_secs() - RACY_SECONDS
    }
}

impl Context {
    /// Updates the index from the folder: every file is checked, changed ones are read. Journals
    /// and documents come first.
    ///
    /// It uses [`Options::threads`](crate::Options::threads) threads, including this one, and ends
    /// early when `cancel` returns true: what was indexed until then stays.
    pub fn scan(&self, now: Timestamp, cancel: Cancel<'_>) -> Result<ScanReport> {
        let _changing = self.changing.lock();
        self.scanning.store(true, Ordering::Relaxed);
        let report = self.scan_all(now, cancel);
        self.scanning.store(false, Ordering::Relaxed);
        self.pending.store(0, Ordering::Relaxed);
        report
    }

    fn scan_all(&self, now: Timestamp, cancel: Cancel<'_>) -> Result<ScanReport> {
        let tally = Tally::default();
        let mut walk = walk(&self.root, &self.rules, &|| cancel())?;
        if walk.cancelled {
            return Ok(ScanReport { cancelled: true, ..ScanReport::default() });
        }
        let found = walk.found.len() as u64;
        self.forget_others(&walk.found, &tally);
        self.stale.lock().clear();
        let changed: Vec<Found> =
            std::mem::take(&mut walk.found).into_iter().filter(|file| self.is_news(file)).collect();
        self.pending.store(changed.len() as u64, Ordering::Relaxed);
        self.survey.write().walk = walk;
        let (mut code, documents): (Vec<Found>, Vec<Found>) =
            changed.into_iter().partition(|changed| changed.class.kind.source() == Source::Code);
        self.take_all(&documents, now, cancel, &tally);
        self.read_history(cancel)?;
        if let Some(history) = self.history() {
            let order = |found: &Found| std::cmp::Reverse(history.frecency(&found.path).to_bits());
            code.sort_by_cached_key(order);
        }
        self.take_all(&code, now, cancel, &tally);
        if !documents.is_empty() || !code.is_empty() {
            self.read_changed(cancel);
        }
        let report = self.report(found, tally)?;
        if !report.cancelled {
            // To the second, as it is stored.
            self.survey.write().indexed_at = Some(Timestamp::from_secs(now.as_secs()));
        }
        Ok(report)
    }

    /// Checks some paths again, relative to the project: files that were changed, created or
    /// removed, and folders. A change of which files belong to the project leads to a scan. Like a
    /// scan, it ends early when `cancel` returns true.
    pub fn update(
        &self,
        paths: &[String],
        now: Timestamp,
        cancel: Cancel<'_>,
    ) -> Result<ScanReport> {
        let is_folder = |text: &String| {
            self.rules.folder(&self.root, text) && self.root.path().join(text).is_dir()
        };
        let rules_changed = paths.iter().any(|path| Rules::is_ignore_file(path));
        if paths.len() > PATHS_MAX || rules_changed || paths.iter().any(is_folder) {
            return self.scan(now, cancel);
        }
        let _changing = self.changing.lock();
        let tally = Tally::default();
        let mut paths: BTreeSet<String> = paths.iter().cloned().collect();
        paths.append(&mut self.stale.lock().drain(..).collect());
        let mut changed = Vec::new();
        let mut places = Places::default();
        for path in &paths {
            let mut gone = self.index.read().below(path);
            match self.rules.one_of(&self.root, path, &mut places) {
                Ok(found) => {
                    changed.push(found);
                    gone.clear();
                }
                Err(_) => {
                    gone.retain(|gone| self.rules.one_of(&self.root, gone, &mut places).is_err());
                }
            }
            for path in gone {
                self.forget(&path);
                tally.removed.fetch_add(1, Ordering::Relaxed);
            }
        }
        changed.retain(|changed| self.is_news(changed));
        let found = changed.len() as u64;
        self.pending.store(found, Ordering::Relaxed);
        self.take_all(&changed, now, cancel, &tally);
        self.pending.store(0, Ordering::Relaxed);
        let report = self.report(found, tally)?;
        if report.indexed + report.removed > 0 {
            self.read_changed(cancel);
        }
        Ok(report)
    }

    fn report(&self, found: u64, tally: Tally) -> Result<ScanReport> {
        if let Some(error) = tally.failed.into_inner() {
            return Err(error);
        }
        let indexed = tally.indexed.into_inner();
        let removed = tally.removed.into_inner();
        self.changes.fetch_add(indexed + removed, Ordering::Relaxed);
        self.keep_up();
        Ok(ScanReport { found, indexed, removed, cancelled: tally.cancelled.into_inner() })
    }

    /// Whether a file has changed since it was read, or was never read.
    fn is_news(&self, found: &Found) -> bool {
        let index = self.index.read();
        let known = index.slot(&found.path).and_then(|slot| index.file(slot));
        match known {
            Some(file) => !file.is_still(&found.stat),
            // The state does not show whether the file is now readable.
            None => self
                .refused
                .lock()
                .get(&found.path)
                .is_none_or(|refused| refused.0 != found.stat || refused.1 == Skip::Unreadable),
        }
    }

    /// Removes files that the folder no longer has.
    fn forget_others(&self, found: &[Found], tally: &Tally) {
        let found: BTreeSet<&str> = found.iter().map(|found| found.path.as_str()).collect();
        let gone: Vec<String> = {
            let index = self.index.read();
            let paths = index.files().map(|(_, it)| String::from(&*it.path));
            paths.filter(|path| !found.contains(path.as_str())).collect()
        };
        self.refused.lock().retain(|path, _| found.contains(path.as_str()));
        for path in gone {
            self.forget(&path);
            tally.removed.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn forget(&self, path: &str) {
        self.refused.lock().remove(path);
        self.index.write().remove(path);
    }

    /// Reads and inserts files, with all threads.
    fn take_all(&self, files: &[Found], now: Timestamp, cancel: Cancel<'_>, tally: &Tally) {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut extractor = Extractor::new();
            loop {
                if cancel() {
                    tally.cancelled.store(true, Ordering::Relaxed);
                    return;
                }
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(found) = files.get(at) else { return };
                match self.take(found, &mut extractor, now) {
                    Ok(true) => {
                        tally.indexed.fetch_add(1, Ordering::Relaxed);
                        if at.is_multiple_of(64) {
                            self.keep_up();
                        }
                    }
                    Ok(false) => {}
                    Err(error) => {
                        *tally.failed.lock() = Some(error);
                        return;
                    }
                }
                self.pending
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |pending| {
                        pending.checked_sub(1)
                    })
                    .ok();
            }
        };
        let others = self.options.threads.clamp(1, files.len().max(1)) - 1;
        std::thread::scope(|scope| {
            for _ in 0..others {
                scope.spawn(work);
            }
            work();
        });
    }

    /// Reads and inserts a file; false if the index has its content already, or it is refused.
    fn take(&self, found: &Found, extractor: &mut Extractor, now: Timestamp) -> Result<bool> {
        let (bytes, stat) = match read(&self.root, found, self.rules.limits()) {
            Ok(read) => read,
            Err(skip) => {
                self.refuse(found, skip);
                return Ok(false);
            }
        };
        let found = Found { stat, ..found.clone() };
        let hash = hash(&bytes);
        {
            let index = self.index.read();
            let slot = index.slot(&found.path);
            let known = slot.and_then(|slot| index.file(slot)).filter(|file| file.hash == hash);
            if known.is_some() {
                drop(index);
                let mut index = self.index.write();
                if let Some(file) = slot.and_then(|slot| index.file_mut(slot)) {
                    (file.stat, file.seen_at) = (stat, now);
                }
                self.noted.store(true, Ordering::Relaxed);
                return Ok(false);
            }
        }
        match self.prepare(&found, hash, &bytes, extractor, now) {
            Ok(prepared) => self.put(prepared).map(|()| true),
            Err(skip) => {
                self.refuse(&found, skip);
                Ok(false)
            }
        }
    }

    /// Extracts a file. One that makes a parser panic is left out.
    pub(super) fn prepare(
        &self,
        found: &Found,
        hash: crate::texts::Hash,
        bytes: &[u8],
        extractor: &mut Extractor,
        now: Timestamp,
    ) -> std::result::Result<Prepared, Skip> {
        let history = self.history();
        let prepared = catch_unwind(AssertUnwindSafe(|| {
            let extract = extractor.extract(found, bytes, now)?;
            let found = found.clone();
            Ok(prepare(&self.analyzer, found, hash, extract, history.as_deref(), now))
        }));
        prepared.unwrap_or_else(|_| {
            *extractor = Extractor::new();
            Err(Skip::Parser)
        })
    }

    /// Inserts a file: its texts first, then the entries that find them.
    fn put(&self, mut ready: Prepared) -> Result<()> {
        self.refused.lock().remove(&*ready.file.path);
        // Only a save replaces it, and none is running now.
        let texts = Arc::clone(&self.texts.read());
        let places = texts.append(&ready.file.hash, &ready.texts)?;
        for (fact, at) in ready.chunks.iter_mut().zip(places) {
            fact.text = at;
        }
        let words = self.index.write().insert(ready);
        drop(words);
        self.version.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    fn refuse(&self, found: &Found, skip: Skip) {
        self.forget(&found.path);
        if skip != Skip::Gone {
            self.refused.lock().insert(found.path.clone(), (found.stat, skip));
        }
    }

    /// Merges parts of the text indexes, unless another thread is doing so.
    pub(super) fn keep_up(&self) {
        let Some(_merging) = self.merging.try_lock() else { return };
        loop {
            let Some((which, plan)) = self.index.write().plan() else { return };
            let merged = plan.run();
            self.index.write().install(which, merged);
        }
    }
}
