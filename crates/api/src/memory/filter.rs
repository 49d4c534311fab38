//! Filters on memories, which searches, lists and counts share.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Number;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;
use waypost_time::Timestamp;

use super::scalar::Scalar;
use crate::limits::{
    Check, Faults, METADATA_BYTES_MAX, METADATA_FILTER_KEYS_MAX, METADATA_FILTER_VALUES_MAX,
    METADATA_KEY_CHARS_MAX, escape_pointer,
};

/// What a filter wants of a metadata value. A value of another type does not pass.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum MetadataTest {
    /// It equals this one. Numbers are equal by value, texts if they have the same characters.
    Is(Scalar),
    /// It equals one of these, 1 to 64, which all have the same type.
    OneOf(Vec<Scalar>),
    /// It is within these bounds.
    Within(MetadataRange),
}

/// Bounds of a metadata value: two numbers, or two times in RFC 3339. One may be absent.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MetadataRange {
    /// The lowest value that passes.
    pub gte: Option<Scalar>,
    /// The highest value that passes.
    pub lte: Option<Scalar>,
}

impl MetadataTest {
    /// It is within these bounds, of which one is given.
    pub fn within(gte: impl Into<Option<Scalar>>, lte: impl Into<Option<Scalar>>) -> Self {
        Self::Within(MetadataRange { gte: gte.into(), lte: lte.into() })
    }
}

impl<'de> Deserialize<'de> for MetadataTest {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = MetadataTest;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a number, a boolean, an array of them, or an object with `gte` and `lte`")
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<MetadataTest, E> {
                Ok(MetadataTest::Is(Scalar::Bool(value)))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<MetadataTest, E> {
                Ok(MetadataTest::Is(Scalar::Number(value.into())))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<MetadataTest, E> {
                Ok(MetadataTest::Is(Scalar::Number(value.into())))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<MetadataTest, E> {
                // JSON has no other numbers than finite ones.
                let number = Number::from_f64(value);
                let number = number.ok_or_else(|| E::custom("must be a finite number"))?;
                Ok(MetadataTest::Is(Scalar::Number(number)))
            }
            fn visit_str<E: Error>(self, value: &str) -> Result<MetadataTest, E> {
                Ok(MetadataTest::Is(Scalar::String(value.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<MetadataTest, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(items)).map(MetadataTest::OneOf)
            }
            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<MetadataTest, A::Error> {
                MetadataRange::deserialize(MapAccessDeserializer::new(members))
                    .map(MetadataTest::Within)
            }
        }
        input.deserialize_any(Any)
    }
}

/// Selects memories. Every condition that is set must hold.
///
/// Numbers in metadata are compared by value, so that 2 equals 2.0. A text is a time if it is one in
/// RFC 3339, such as `2026-11-21T13:00:00Z`; times are compared by their instant, to the millisecond.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    /// The kind is one of these; empty for any.
    pub kinds: Vec<String>,
    /// The memory has all of these tags.
    pub tags: Vec<String>,
    /// The memory has at least one of these tags; empty for any.
    pub tags_any: Vec<String>,
    /// The memory's metadata has each of these keys, with a value that passes the test.
    pub metadata: BTreeMap<String, MetadataTest>,
    /// The space; `None` for all spaces.
    pub space: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// Created at this time or later.
    pub since: Option<Timestamp>,
    /// Created before this time.
    pub until: Option<Timestamp>,
    /// Only pinned memories, or only others.
    pub pinned: Option<bool>,
    /// The present time: memories that have [expired](crate::Lifespan::has_expired) by it are left
    /// out. `None` leaves out none.
    pub now: Option<Timestamp>,
}

impl Filter {
    /// Selects only these kinds.
    #[must_use]
    pub fn with_kinds<K: Into<String>>(self, kinds: impl IntoIterator<Item = K>) -> Self {
        Self { kinds: kinds.into_iter().map(Into::into).collect(), ..self }
    }

    /// Selects only memories that have all of these tags.
    #[must_use]
    pub fn with_tags<T: Into<String>>(self, tags: impl IntoIterator<Item = T>) -> Self {
        Self { tags: tags.into_iter().map(Into::into).collect(), ..self }
    }

    /// Selects only memories that have at least one of these tags.
    #[must_use]
    pub fn with_tags_any<T: Into<String>>(self, tags: impl IntoIterator<Item = T>) -> Self {
        Self { tags_any: tags.into_iter().map(Into::into).collect(), ..self }
    }

    /// Selects only memories whose metadata has this key, with a value that passes the test. Replaces
    /// another test of the same key.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, test: MetadataTest) -> Self {
        self.metadata.insert(key.into(), test);
        self
    }

    /// Selects only one space.
    #[must_use]
    pub fn with_space(self, space: impl Into<String>) -> Self {
        Self { space: Some(space.into()), ..self }
    }

    /// Selects only one session.
    #[must_use]
    pub fn with_session(self, session: impl Into<String>) -> Self {
        Self { session: Some(session.into()), ..self }
    }

    /// Selects only memories created at this time or later.
    #[must_use]
    pub fn with_since(self, since: Timestamp) -> Self {
        Self { since: Some(since), ..self }
    }

    /// Selects only memories created before this time.
    #[must_use]
    pub fn with_until(self, until: Timestamp) -> Self {
        Self { until: Some(until), ..self }
    }

    /// Selects only pinned memories, or only others.
    #[must_use]
    pub fn with_pinned(self, pinned: bool) -> Self {
        Self { pinned: Some(pinned), ..self }
    }

    /// Leaves out memories that have expired by this time.
    #[must_use]
    pub fn with_now(self, now: Timestamp) -> Self {
        Self { now: Some(now), ..self }
    }
}

/// Gives a request with the fields of a filter the method `filter`.
macro_rules! filters {
    ($request:ty) => {
        impl $request {
            /// Its filter.
            pub fn filter(&self) -> $crate::Filter {
                $crate::Filter {
                    kinds: self.kinds.clone(),
                    tags: self.tags.clone(),
                    tags_any: self.tags_any.clone(),
                    metadata: self.metadata.clone(),
                    space: self.space.clone(),
                    since: self.since,
                    until: self.until,
                    pinned: self.pinned,
                    ..$crate::Filter::default()
                }
            }
        }
    };
}
pub(super) use filters;

impl Check for Filter {
    fn check(&self, faults: &mut Faults) {
        faults.kinds(&self.kinds);
        faults.tags("tags", &self.tags);
        faults.tags("tagsAny", &self.tags_any);
        let keys = self.metadata.len();
        if keys > METADATA_FILTER_KEYS_MAX {
            let reason = format!("tests {keys} keys; the limit is {METADATA_FILTER_KEYS_MAX}");
            faults.add("metadata", reason);
        }
        for (key, test) in &self.metadata {
            let field = format!("metadata/{}", escape_pointer(key));
            faults.name(&field, key, METADATA_KEY_CHARS_MAX);
            if let Err(reason) = check(test) {
                faults.add(&field, reason);
            }
        }
        faults.space(self.space.as_deref());
        faults.period(self.since, self.until);
    }
}

fn check(test: &MetadataTest) -> Result<(), String> {
    let too_long = |scalar: &Scalar| matches!(scalar, Scalar::String(scalar) if scalar.len() > METADATA_BYTES_MAX);
    let one = |scalar: &Scalar| {
        let reason = || format!("has a text of more than {METADATA_BYTES_MAX} bytes");
        if too_long(scalar) { Err(reason()) } else { Ok(()) }
    };
    match test {
        MetadataTest::Is(value) => one(value),
        MetadataTest::OneOf(values) => {
            let count = values.len();
            if !(1..=METADATA_FILTER_VALUES_MAX).contains(&count) {
                return Err(format!(
                    "has {count} values; expected 1 to {METADATA_FILTER_VALUES_MAX}"
                ));
            }
            if values.windows(2).any(|pair| pair[0].type_name() != pair[1].type_name()) {
                return Err(
                    "mixes types; expected only strings, only numbers or only booleans".to_owned()
                );
            }
            values.iter().try_for_each(one)
        }
        MetadataTest::Within(MetadataRange { gte: None, lte: None }) => {
            Err("has no bound; expected `gte`, `lte` or both".to_owned())
        }
        MetadataTest::Within(MetadataRange { gte, lte }) => {
            let bounds = [gte, lte].map(|it| it.as_ref().map(Bound::of).transpose());
            match &bounds {
                [Err(reason), _] | [_, Err(reason)] => Err(reason.clone()),
                [Ok(Some(Bound::Number(low))), Ok(Some(Bound::Number(high)))]
                    if is_above(low, high) =>
                {
                    Err(format!("has a `gte` of {low}, above its `lte` of {high}"))
                }
                [Ok(Some(Bound::Time(low))), Ok(Some(Bound::Time(high)))] if low > high => {
                    Err(format!("has a `gte` of {low}, after its `lte` of {high}"))
                }
                [Ok(Some(Bound::Number(_))), Ok(Some(Bound::Time(_)))]
                | [Ok(Some(Bound::Time(_))), Ok(Some(Bound::Number(_)))] => {
                    Err("mixes types; expected two numbers or two times".to_owned())
                }
                _ => Ok(()),
            }
        }
    }
}

/// Whether a number is above another one. Whole numbers are compared exactly.
fn is_above(low: &Number, high: &Number) -> bool {
    match (low.as_i128(), high.as_i128()) {
        (Some(low), Some(high)) => low > high,
        _ => low.as_f64() > high.as_f64(),
    }
}

/// A bound of a range.
enum Bound {
    Number(Number),
    Time(Timestamp),
}

impl Bound {
    fn of(value: &Scalar) -> Result<Self, String> {
        let found = match value {
            Scalar::Number(number) => Some(Self::Number(number.clone())),
            Scalar::String(text) => text.parse().ok().map(Self::Time),
            Scalar::Bool(_) => None,
        };
        found.ok_or_else(|| {
            "has a bound that is neither a number nor an RFC 3339 time such as \
             `2026-11-21T13:00:00Z`"
                .to_owned()
        })
    }
}
