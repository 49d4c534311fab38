//! Deserializes fields whose JSON form is wider than their Rust type.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeOwned, Deserializer, Error, SeqAccess, Unexpected, Visitor,
};

use crate::Scalar;
use crate::limits::ID_MAX;
use crate::parse::explain;
use crate::strict::{self, Tree};

/// What a whole number must be.
pub(crate) const WHOLE: &str = "a non-negative whole number";

/// A whole number, including `3.0`. The check validates the range.
pub(crate) fn whole<'de, D: Deserializer<'de>>(input: D) -> Result<u64, D::Error> {
    input.deserialize_u64(Whole)
}

/// A whole number or `null`.
pub(crate) fn optional_whole<'de, D: Deserializer<'de>>(input: D) -> Result<Option<u64>, D::Error> {
    struct Maybe;
    impl<'de> Visitor<'de> for Maybe {
        type Value = Option<u64>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            Whole.expecting(f)
        }
        fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
        fn visit_some<D: Deserializer<'de>>(self, input: D) -> Result<Self::Value, D::Error> {
            whole(input).map(Some)
        }
    }
    input.deserialize_option(Maybe)
}

struct Whole;

impl Visitor<'_> for Whole {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WHOLE)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<u64, E> {
        Ok(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<u64, E> {
        u64::try_from(value).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<u64, E> {
        // 2^53: above it a float no longer represents a unique whole number.
        if value.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&value) {
            Ok(value as u64)
        } else if value.fract() == 0.0 && value > 0.0 {
            Err(E::custom(format!("must be {WHOLE}, at most {ID_MAX} (2^53 - 1), not {value:?}")))
        } else {
            Err(E::invalid_value(Unexpected::Float(value), &self))
        }
    }
}

/// A string or an array of strings; `null` is an empty array.
pub(crate) fn one_or_many<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    struct OneOrMany;
    impl<'de> Visitor<'de> for OneOrMany {
        type Value = Vec<String>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string or an array of strings")
        }
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }
        fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
            Ok(vec![value.to_owned()])
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut values = Vec::new();
            while let Some(value) = items.next_element()? {
                values.push(value);
            }
            Ok(values)
        }
    }
    input.deserialize_any(OneOrMany)
}

/// An array; `null` is an empty one.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    input: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(input)?.unwrap_or_default())
}

/// An array of at least one element; `null` is none.
pub(crate) fn some<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    input: D,
) -> Result<Vec<T>, D::Error> {
    match Option::<Vec<T>>::deserialize(input)? {
        Some(found) if found.is_empty() => Err(D::Error::custom("must have at least one element")),
        found => Ok(found.unwrap_or_default()),
    }
}

/// An object; `null` is an empty one.
pub(crate) fn map<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    input: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    Ok(Option::deserialize(input)?.unwrap_or_default())
}

/// A query parameter that is the text of a JSON object.
pub(crate) fn json<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    input: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    let text = String::deserialize(input)?;
    let broken =
        |error: serde_json::Error| D::Error::custom(format!("must be a JSON object: {error}"));
    let tree = strict::parse(text.as_bytes()).map_err(broken)?;
    if !matches!(tree, Tree::Object(_)) {
        return Err(D::Error::custom(format!("must be a JSON object, not {}", tree.kind())));
    }
    serde_path_to_error::deserialize(tree).map_err(|error| {
        let fault = explain(error.path(), &error.inner().to_string(), '/');
        D::Error::custom(format!("{}: {}", fault.pointer.trim_start_matches('/'), fault.message))
    })
}

/// Whether a flag is absent from the wire.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(crate) fn is_false(value: &bool) -> bool {
    !*value
}

/// A flag that was given; `null` is `false`.
pub(crate) fn flag<'de, D: Deserializer<'de>>(input: D) -> Result<Option<bool>, D::Error> {
    Ok(Some(Option::deserialize(input)?.unwrap_or_default()))
}

/// A field that was given, even as `null`.
#[expect(clippy::option_option, reason = "absent, null and a value are three things in a patch")]
pub(crate) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    input: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(input).map(Some)
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a number or a boolean")
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<Scalar, E> {
                Ok(Scalar::Bool(value))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Scalar, E> {
                Ok(Scalar::Number(value.into()))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Scalar, E> {
                Ok(Scalar::Number(value.into()))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Scalar, E> {
                serde_json::Number::from_f64(value)
                    .map(Scalar::Number)
                    .ok_or_else(|| E::invalid_value(Unexpected::Float(value), &"a finite number"))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<Scalar, E> {
                Ok(Scalar::String(value.to_owned()))
            }
        }
        input.deserialize_any(Any)
    }
}
