//! Metadata values.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// A metadata value.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// A string.
    String(String),
    /// A number.
    #[schema(value_type = f64)]
    Number(serde_json::Number),
    /// A boolean.
    Bool(bool),
}

/// Keys and values that a caller stores with a memory, ordered by key.
pub type Metadata = BTreeMap<String, Scalar>;

impl Scalar {
    /// What a message calls its type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::String(_) => "string",
            Self::Number(_) => "number",
            Self::Bool(_) => "boolean",
        }
    }
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<i64> for Scalar {
    fn from(number: i64) -> Self {
        Self::Number(number.into())
    }
}

impl From<bool> for Scalar {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}
