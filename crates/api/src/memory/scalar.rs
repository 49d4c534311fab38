//! Metadata values.

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
