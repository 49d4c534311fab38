//! Metadata values.

use serde::Serialize;

/// A metadata value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum Scalar {
    /// A string.
    String(String),
    /// A number.
    #[cfg_attr(feature = "openapi", schema(value_type = f64))]
    Number(serde_json::Number),
    /// A boolean.
    Bool(bool),
}
