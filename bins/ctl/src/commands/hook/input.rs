//! What a harness says to a hook on standard input.

use std::io::{self, Read};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use waypost_api::limits::SESSION_CHARS_MAX;
use waypost_cli::failure::{Failure, Result};

/// A prompt has at most 1 MiB on its way to the service; JSON may escape each byte.
const INPUT_BYTES_MAX: u64 = 8 << 20;
/// Longer prompts are cut: recall searches the beginning and the end.
const PROMPT_BYTES_MAX: usize = 512 << 10;

/// The fields of all harnesses that a hook uses. Others are ignored, and one of another type counts
/// as absent.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Input {
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    /// Cursor's name of a session.
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    conversation_id: Option<String>,
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    transcript_path: Option<String>,
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(deserialize_with = "texts", skip_serializing_if = "Vec::is_empty")]
    workspace_roots: Vec<String>,
    #[serde(deserialize_with = "text", skip_serializing_if = "Option::is_none")]
    agent_id: Option<String>,
    #[serde(deserialize_with = "text", skip_serializing)]
    source: Option<String>,
    #[serde(deserialize_with = "text", skip_serializing)]
    prompt: Option<String>,
}

impl Input {
    pub(super) fn read() -> Result<Self> {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes);
        read.map_err(|error| Failure::from(error).while_doing("cannot read standard input"))?;
        if bytes.len() as u64 > INPUT_BYTES_MAX {
            return Err(Failure::new(format!("the input has more than {INPUT_BYTES_MAX} bytes")));
        }
        serde_json::from_slice(&bytes).map_err(|error| {
            Failure::new(format!("the input is not the JSON object of a hook: {error}"))
        })
    }

    /// Whether the hook was called in a sub-agent, which works for the session.
    pub(super) fn is_of_sub_agent(&self) -> bool {
        self.agent_id.is_some()
    }

    /// Goes to the folder of the session: its project is the one that the hook is about.
    pub(super) fn enter_folder(&self) {
        if let Some(folder) =
            self.cwd.as_deref().or(self.workspace_roots.first().map(|root| &**root))
        {
            // If it does not exist, the hook's own folder counts.
            drop(std::env::set_current_dir(folder));
        }
    }

    pub(super) fn session(&self) -> Result<&str> {
        let of_cursor = self.conversation_id.as_deref().map(|id| ("conversation_id", id));
        let given = self.session_id.as_deref().map(|id| ("session_id", id)).or(of_cursor);
        let (field, session) = given.ok_or_else(|| {
            Failure::new("the input has no `session_id`, which names the session")
        })?;
        let length = session.chars().count();
        let wrong = if session.trim().is_empty() {
            "is blank".to_owned()
        } else if session.contains('\0') {
            "contains a NUL character (U+0000)".to_owned()
        } else if length > SESSION_CHARS_MAX {
            format!("has {length} characters")
        } else {
            return Ok(session);
        };
        Err(Failure::new(format!(
            "the input's `{field}` {wrong}; it must have 1 to {SESSION_CHARS_MAX} characters, and no NUL"
        )))
    }

    pub(super) fn source(&self) -> Option<String> {
        self.source.as_ref().map(|source| source.chars().filter(|c| *c != '\0').take(64).collect())
    }

    pub(super) fn prompt(&self) -> Result<String> {
        let prompt = self.prompt.as_deref();
        let prompt = prompt.ok_or_else(|| Failure::new("the input has no `prompt`"))?;
        // The service takes no NUL characters.
        let prompt = prompt.replace('\0', "");
        if prompt.len() <= PROMPT_BYTES_MAX {
            return Ok(prompt);
        }
        let (mut start, mut end) = (PROMPT_BYTES_MAX / 2, prompt.len() - PROMPT_BYTES_MAX / 2);
        while !prompt.is_char_boundary(start) {
            start -= 1;
        }
        while !prompt.is_char_boundary(end) {
            end += 1;
        }
        Ok(format!("{}\n{}", &prompt[..start], &prompt[end..]))
    }

    pub(super) fn transcript(&self) -> Option<PathBuf> {
        self.transcript_path.as_ref().filter(|path| !path.is_empty()).map(PathBuf::from)
    }
}

fn text<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Option<String>, D::Error> {
    let value = serde_json::Value::deserialize(input)?;
    Ok(value.as_str().map(str::to_owned))
}

fn texts<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    let value = serde_json::Value::deserialize(input)?;
    let values = value.as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect())
}
