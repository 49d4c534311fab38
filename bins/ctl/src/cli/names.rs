//! Vocabularies of the wire as arguments.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use waypost_api::Vocabulary;

/// Accepts the names of a vocabulary, and shows each with its meaning.
pub(super) fn names<T: Vocabulary + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let values = T::ALL.iter().map(|it| {
        let (name, meaning) = it.describe();
        PossibleValue::new(name).help(meaning)
    });
    PossibleValuesParser::new(values).try_map(|name| T::from_name(&name).ok_or("unknown name"))
}
