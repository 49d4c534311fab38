//! A project in a temporary folder, and its context.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use waypost_context::{Answer, Context, Item, Options, Query, ScanReport, TaskType, Timestamp};

/// 20 February 2026, noon.
pub(crate) const NOW: Timestamp = Timestamp::from_secs(1_771_588_800);

pub(crate) struct World {
    folder: TempDir,
    context: Option<Context>,
    options: Options,
}

impl World {
    /// An empty project.
    pub(crate) fn new() -> Self {
        Self::with(Options::default().without_git())
    }

    pub(crate) fn with(options: Options) -> Self {
        let folder = tempfile::tempdir().expect("a test's own folder can be used");
        fs::create_dir(folder.path().join("project")).expect("a test's own folder can be used");
        let mut world = Self { folder, context: None, options };
        world.open();
        world
    }

    pub(crate) fn open(&mut self) {
        let context = Context::open(&self.root(), &self.data(), self.options.clone());
        self.context = Some(context.expect("a test's own folder can be used"));
    }

    pub(crate) fn close(&mut self) {
        self.context
            .take()
            .expect("a test's own folder can be used")
            .close()
            .expect("a test's own folder can be used");
    }

    /// Ends without closing, like a killed process.
    pub(crate) fn abandon(&mut self) {
        drop(self.context.take());
    }

    pub(crate) fn context(&self) -> &Context {
        self.context.as_ref().expect("a test's own folder can be used")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// The folder of the index.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The only text file.
    pub(crate) fn texts(&self) -> PathBuf {
        let entries = fs::read_dir(self.data()).expect("a test's own folder can be used");
        let mut paths = entries.map(|entry| entry.expect("a test's own folder can be used").path());
        let is_texts = |path: &PathBuf| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|text| text.starts_with("texts-"))
        };
        paths.find(is_texts).expect("an index has texts")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.root().join(path), text);
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.root().join(path)).expect("a test's own folder can be used");
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        let to = self.root().join(to);
        fs::create_dir_all(to.parent().expect("a test's own folder can be used"))
            .expect("a test's own folder can be used");
        fs::rename(self.root().join(from), to).expect("a test's own folder can be used");
    }

    pub(crate) fn scan(&self) -> ScanReport {
        self.context().scan(NOW, &|| false).expect("a test's own folder can be used")
    }

    pub(crate) fn ask(&self, query: &Query) -> Answer {
        self.context().query(query, NOW).expect("a test's own folder can be used")
    }

    pub(crate) fn items(&self, text: &str, task: TaskType) -> Vec<Item> {
        self.ask(&Query::new(text).with_task(task)).items
    }

    /// The distinct files of the items, in order.
    pub(crate) fn paths(&self, text: &str) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for item in self.items(text, TaskType::General) {
            if !paths.contains(&item.path) {
                paths.push(item.path);
            }
        }
        paths
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a test's own folder can be used"))
        .expect("a test's own folder can be used");
    fs::write(path, text).expect("a test's own folder can be used");
}
