//! The flows in force, indexed by event type.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use waypost_events::EventType;

use crate::definition::yaml::invalid_at;
use crate::{Flow, FlowName, InvalidFile, Kind, parse};

/// SHA-256 of a flow file's text, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContentHash(String);

impl ContentHash {
    /// The hash of a text.
    pub fn of(text: &str) -> Self {
        Self::of_bytes(text.as_bytes())
    }

    /// The hash of a content that need not be text.
    pub fn of_bytes(content: &[u8]) -> Self {
        Self(HEXLOWER.encode(&Sha256::digest(content)))
    }

    /// 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A parsed flow file.
#[derive(Debug, Clone)]
pub struct FlowFile {
    /// Its name in the folder.
    pub name: String,
    /// As it was read.
    pub text: Arc<str>,
    /// The hash of the text.
    pub hash: ContentHash,
    flows: Vec<Arc<Flow>>,
}

impl FlowFile {
    /// Parses a file's text.
    ///
    /// # Errors
    /// As [`parse`].
    pub fn new(name: &str, text: &str) -> Result<Self, InvalidFile> {
        let flows = parse(text)?.into_iter().map(Arc::new).collect();
        let hash = ContentHash::of(text);
        Ok(Self { name: name.to_owned(), text: text.into(), hash, flows })
    }

    /// Its flows, in the order written.
    pub fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().map(AsRef::as_ref)
    }

    /// The places where a command probably does not do what its author means: a value is the name
    /// of a command, or a part of it.
    pub fn cautions(&self) -> Vec<InvalidFile> {
        let mut found = Vec::new();
        for (idx, flow) in self.flows().enumerate() {
            for (number, action) in flow.actions.iter().enumerate() {
                let Kind::Command(command) = &action.kind else { continue };
                let path = format!("flows/{idx}/actions/{number}/command");
                let cautions = command.cautions().into_iter();
                found.extend(
                    cautions.map(|caution| invalid_at(&self.text, &path, &caution.to_string())),
                );
            }
        }
        found
    }
}

impl Flow {
    /// The keys of values that must be plain although no type is declared for them.
    pub fn undeclared(&self) -> BTreeSet<&str> {
        let types = &self.trigger.data;
        self.actions.iter().flat_map(|action| action.kind.undeclared(types)).collect()
    }
}

/// A flow and its file.
#[derive(Debug, Clone)]
pub struct FlowEntry {
    /// The flow.
    pub flow: Arc<Flow>,
    /// The file's name.
    pub file: String,
    /// The hash of the file's text.
    pub hash: ContentHash,
    pub(crate) text: Arc<str>,
}

/// The flows in force. The cost of finding those that match an event depends on the result, not on
/// the number of flows.
#[derive(Debug, Clone, Default)]
pub struct FlowSet {
    entries: Vec<Arc<FlowEntry>>,
    names: BTreeMap<FlowName, usize>,
    exact: HashMap<String, Vec<usize>>,
    prefixes: HashMap<String, Vec<usize>>,
    /// The distinct lengths of the prefixes.
    lengths: BTreeSet<usize>,
}

impl FlowSet {
    /// The flows of some files. Of several flows with the same name, the first counts; see
    /// [`FlowSet::get`].
    pub fn new<'a>(files: impl IntoIterator<Item = &'a FlowFile>) -> Self {
        let mut set = Self::default();
        for file in files {
            for flow in &file.flows {
                set.add(FlowEntry {
                    flow: Arc::clone(flow),
                    file: file.name.clone(),
                    hash: file.hash.clone(),
                    text: Arc::clone(&file.text),
                });
            }
        }
        set
    }

    fn add(&mut self, entry: FlowEntry) {
        let idx = self.entries.len();
        if self.names.contains_key(&entry.flow.name) {
            return;
        }
        self.names.insert(entry.flow.name.clone(), idx);
        let pattern = &entry.flow.trigger.pattern;
        let literal = pattern.literal().to_owned();
        if pattern.is_exact() {
            self.exact.entry(literal).or_default().push(idx);
        } else {
            self.lengths.insert(literal.len());
            self.prefixes.entry(literal).or_default().push(idx);
        }
        self.entries.push(Arc::new(entry));
    }

    /// The flows whose pattern matches a type. Costs one lookup for each prefix length that some
    /// flow has, plus the result.
    pub fn wanting<'a>(&'a self, kind: &'a EventType) -> impl Iterator<Item = &'a Arc<FlowEntry>> {
        let text = kind.as_str();
        let exact = self.exact.get(text).into_iter();
        let prefixed = self
            .lengths
            .range(..=text.len())
            .filter_map(move |length| text.get(..*length).and_then(|text| self.prefixes.get(text)));
        exact.chain(prefixed).flatten().map(|at| &self.entries[*at])
    }

    /// The flow of this name.
    pub fn get(&self, name: &FlowName) -> Option<&Arc<FlowEntry>> {
        self.names.get(name).map(|name| &self.entries[*name])
    }

    /// All flows, in the order of the files.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<FlowEntry>> {
        self.entries.iter()
    }

    /// A digest of the names and the definitions: the same on two machines if the same flows of files
    /// with the same texts are in force, whatever the names and the order of the files.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        for (name, idx) in &self.names {
            // Neither has a line break.
            hasher.update(format!("{name}\n{}\n", self.entries[*idx].hash));
        }
        hasher.finalize().into()
    }

    /// The number of flows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no flows.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
