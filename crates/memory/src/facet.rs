//! Metadata values in 64 bits, and what a filter tests of them.
//!
//! Filters need metadata of every memory, so the index has it in memory: numbers and booleans as they
//! are, and of a text the first 64 bits of its SHA-256. Texts are only compared for equality, and two
//! unequal ones among a million have the same bits with a probability of 3 in 10^8.

use std::cmp::Ordering;

use sha2::{Digest, Sha256};

use crate::{Metadata, MetadataRange, MetadataTest, Scalar, Timestamp};

/// 2^63, above every `i64`.
const INTEGER_END: f64 = 9_223_372_036_854_775_808.0;

/// One thing about a metadata value that a filter may test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facet {
    pub(crate) kind: FacetKind,
    pub(crate) bits: u64,
}

/// What the bits of a [`Facet`] are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FacetKind {
    /// A whole number: an `i64`.
    Integer = 0,
    /// A number that is not whole or no `i64`: an `f64`.
    Float = 1,
    Boolean = 2,
    /// A text: the first 64 bits of its SHA-256.
    Text = 3,
    /// The instant of a text that is a time, in milliseconds since 1970.
    Time = 4,
}

impl FacetKind {
    pub(crate) fn of_code(code: u32) -> Option<Self> {
        let all = [Self::Integer, Self::Float, Self::Boolean, Self::Text, Self::Time];
        all.get(code as usize).copied()
    }
}

impl Facet {
    /// The facets of metadata, by key.
    pub(crate) fn all(metadata: &Metadata) -> Vec<(String, Self)> {
        let each = |(key, value): (&String, &Scalar)| {
            let facets = [Some(Self::of(value)), time(value).map(Self::of_time)];
            facets.map(|facet| Some((key.clone(), facet?)))
        };
        metadata.iter().flat_map(each).flatten().collect()
    }

    /// What makes a value equal to others.
    fn of(value: &Scalar) -> Self {
        let (kind, bits) = match value {
            Scalar::String(text) => (FacetKind::Text, hash(text)),
            Scalar::Number(number) => {
                let float = number.as_f64().unwrap_or_default();
                match number.as_i64().or_else(|| whole(float)) {
                    Some(whole) => (FacetKind::Integer, whole.cast_unsigned()),
                    None => (FacetKind::Float, float.to_bits()),
                }
            }
            Scalar::Bool(value) => (FacetKind::Boolean, u64::from(*value)),
        };
        Self { kind, bits }
    }

    fn of_time(time: Timestamp) -> Self {
        Self { kind: FacetKind::Time, bits: time.as_millis().cast_unsigned() }
    }

    /// The order of two facets that are both numbers, or both times.
    fn compare(self, other: Self) -> Option<Ordering> {
        use FacetKind::{Float, Integer, Time};
        let integers = || self.bits.cast_signed().cmp(&other.bits.cast_signed());
        match (self.kind, other.kind) {
            (Integer, Integer) | (Time, Time) => Some(integers()),
            (Float, Float) => f64::from_bits(self.bits).partial_cmp(&f64::from_bits(other.bits)),
            (Integer, Float) => below(self.bits.cast_signed(), f64::from_bits(other.bits)),
            (Float, Integer) => other.compare(self).map(Ordering::reverse),
            _ => None,
        }
    }
}

/// The order of a whole number and one that is not, or is outside of `i64`.
fn below(whole: i64, float: f64) -> Option<Ordering> {
    // The nearest `f64` of a large whole number may be 2^63, which no whole number is.
    Some((whole as f64).partial_cmp(&float)?.then(Ordering::Less))
}

/// A float as a whole number, if it is one.
fn whole(number: f64) -> Option<i64> {
    let is_whole = number.fract() == 0.0 && (-INTEGER_END..INTEGER_END).contains(&number);
    is_whole.then_some(number as i64)
}

fn hash(text: &str) -> u64 {
    Sha256::digest(text).first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

/// The time that a value is, if it is one.
fn time(value: &Scalar) -> Option<Timestamp> {
    match value {
        Scalar::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// A [`MetadataTest`] on facets.
#[derive(Debug)]
pub(crate) enum Test {
    OneOf(Vec<Facet>),
    /// Bounds that are numbers, or times.
    Within([Option<Facet>; 2]),
}

impl Test {
    pub(crate) fn new(test: &MetadataTest) -> Self {
        match test {
            MetadataTest::Is(value) => Self::OneOf(vec![Facet::of(value)]),
            MetadataTest::OneOf(values) => Self::OneOf(values.iter().map(Facet::of).collect()),
            MetadataTest::Within(MetadataRange { gte, lte }) => {
                Self::Within([gte, lte].map(|it| bound(it.as_ref())))
            }
        }
    }

    pub(crate) fn holds(&self, facet: Facet) -> bool {
        match self {
            Self::OneOf(facets) => facets.contains(&facet),
            Self::Within([gte, lte]) => {
                gte.is_none_or(|gte| facet.compare(gte).is_some_and(Ordering::is_ge))
                    && lte.is_none_or(|lte| facet.compare(lte).is_some_and(Ordering::is_le))
            }
        }
    }
}

fn bound(value: Option<&Scalar>) -> Option<Facet> {
    // A bound of another type compares with nothing, and the check of a filter refuses it.
    value.map(|value| time(value).map_or_else(|| Facet::of(value), Facet::of_time))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(value: f64) -> Facet {
        let number = serde_json::Number::from_f64(value).expect("finite");
        Facet::of(&Scalar::Number(number))
    }

    fn integer(value: i64) -> Facet {
        Facet::of(&Scalar::from(value))
    }

    #[test]
    fn numbers_are_compared_by_value() {
        assert_eq!(number(2.0), integer(2));
        assert_eq!(number(-0.0), integer(0));
        assert_eq!(number(-INTEGER_END), integer(i64::MIN));
        assert_ne!(number(INTEGER_END), integer(i64::MAX));
        for (low, high) in [
            (integer(i64::MAX), number(INTEGER_END)),
            (integer(i64::MAX - 1), integer(i64::MAX)),
            (number(-1e300), integer(i64::MIN)),
            (number(0.5), integer(1)),
            (integer(0), number(0.5)),
            (number(0.25), number(0.5)),
            (number(-0.5), integer(0)),
            (integer((1 << 53) + 1), number(1e19)),
        ] {
            assert_eq!(low.compare(high), Some(Ordering::Less), "{low:?} {high:?}");
            assert_eq!(high.compare(low), Some(Ordering::Greater), "{low:?} {high:?}");
        }
    }

    #[test]
    fn values_of_two_types_are_neither_equal_nor_ordered() {
        let values = [
            Scalar::from("1"),
            Scalar::from(1),
            Scalar::Number(serde_json::Number::from_f64(1.5).expect("finite")),
            Scalar::from(true),
        ];
        for (at, one) in values.iter().enumerate() {
            for other in &values[at + 1..] {
                assert_ne!(Facet::of(one), Facet::of(other));
            }
        }
        assert_eq!(integer(1).compare(Facet::of(&values[0])), None);
        assert_eq!(integer(1).compare(Facet::of(&values[3])), None);
        assert_eq!(integer(1).compare(Facet::of_time(Timestamp::EPOCH)), None);
    }

    proptest! {
        #[test]
        fn the_order_of_numbers_is_that_of_their_values(one in -1e6..1e6_f64, other in -1_000_000..1_000_000_i64) {
            let exact = one.partial_cmp(&(other as f64));
            prop_assert_eq!(number(one).compare(integer(other)), exact);
            prop_assert_eq!(integer(other).compare(number(one)), exact.map(Ordering::reverse));
        }
    }
}
