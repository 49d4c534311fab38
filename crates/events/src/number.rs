use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A finite number: integers of 64 bits are stored exactly, others as a float of 64 bits.
#[derive(Debug, Clone, Copy)]
pub struct Number(Kind);

/// A number that is infinite or not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the number is not finite")]
#[non_exhaustive]
pub struct NotFinite;

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// An `i64` or a `u64`.
    Whole(i128),
    /// Finite.
    Float(f64),
}

impl Number {
    /// A float; `None` for one that is not finite.
    pub fn from_float(number: f64) -> Option<Self> {
        number.is_finite().then_some(Self(Kind::Float(number)))
    }

    /// Parses the whole text as a decimal number (`-1`, `0.25`, `1e3`).
    pub fn from_decimal(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let mut exponent = unsigned.splitn(2, ['e', 'E']);
        let mantissa = exponent.next()?;
        if let Some(exponent) = exponent.next() {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            all_digits(digits).then_some(())?;
        }
        match mantissa.split_once('.') {
            Some((whole, part)) => (all_digits(whole) && all_digits(part)).then_some(())?,
            None => all_digits(mantissa).then_some(())?,
        }
        match text.parse::<i128>() {
            Ok(whole) if fits(whole) => Some(Self(Kind::Whole(whole))),
            _ => text.parse().ok().and_then(Self::from_float),
        }
    }

    /// The same number in JSON.
    pub fn to_json(self) -> serde_json::Number {
        match self.0 {
            Kind::Whole(it) => match u64::try_from(it) {
                Ok(it) => it.into(),
                Err(_) => (it as i64).into(),
            },
            Kind::Float(it) => serde_json::Number::from_f64(it).unwrap_or_else(|| 0.into()),
        }
    }

    pub(crate) fn whole(self) -> Option<i128> {
        match self.0 {
            Kind::Whole(it) => Some(it),
            Kind::Float(_) => None,
        }
    }

    pub(crate) fn float(self) -> f64 {
        match self.0 {
            Kind::Whole(it) => it as f64,
            Kind::Float(it) => it,
        }
    }
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn fits(whole: i128) -> bool {
    i64::try_from(whole).is_ok() || u64::try_from(whole).is_ok()
}

impl From<i64> for Number {
    fn from(number: i64) -> Self {
        Self(Kind::Whole(number.into()))
    }
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Self(Kind::Whole(number.into()))
    }
}

/// Compares by value: 1 and 1.0 are equal, and integers are not rounded for the comparison.
impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0, other.0) {
            (Kind::Whole(a), Kind::Whole(b)) => a.cmp(&b),
            (Kind::Float(a), Kind::Float(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            (Kind::Whole(a), Kind::Float(b)) => compare_exactly(a, b),
            (Kind::Float(a), Kind::Whole(b)) => compare_exactly(b, a).reverse(),
        }
    }
}

/// Compares an integer within 65 bits with a finite float.
fn compare_exactly(whole: i128, float: f64) -> Ordering {
    // Beyond 2^100 the float is further from zero than any integer stored here.
    if float.abs() >= 2_f64.powi(100) {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    let floor = float.floor();
    match whole.cmp(&(floor as i128)) {
        Ordering::Equal if float > floor => Ordering::Less,
        other => other,
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Equal numbers have equal floats; -0 and 0 are equal.
        let float = self.float();
        (if float == 0.0 { 0.0 } else { float }).to_bits().hash(state);
    }
}

/// As JSON writes it.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Whole(it) => it.fmt(f),
            Kind::Float(it) => match serde_json::Number::from_f64(it) {
                Some(number) => number.fmt(f),
                None => it.fmt(f),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_decimal_is_the_whole_text() {
        for text in ["0", "-1", "0.25", "1e3", "-2.5E-3", "18446744073709551615", "00"] {
            assert!(Number::from_decimal(text).is_some(), "{text}");
        }
        for text in ["", " 1", "1 ", "+1", ".5", "5.", "1e", "0x10", "NaN", "inf", "1e999", "--1"] {
            assert!(Number::from_decimal(text).is_none(), "{text}");
        }
    }

    #[test]
    fn whole_numbers_are_exact() {
        let big = Number::from(u64::MAX);
        assert_eq!(big.to_string(), "18446744073709551615");
        assert!(big < Number::from_float(18_446_744_073_709_551_616.0).unwrap());
        assert!(
            Number::from(9_007_199_254_740_993_u64)
                > Number::from_float(9_007_199_254_740_992.0).unwrap()
        );
        assert_eq!(Number::from(1_i64), Number::from_float(1.0).unwrap());
        assert_eq!(Number::from(0_i64), Number::from_float(-0.0).unwrap());
        assert_eq!(Number::from_float(1.0).unwrap().to_string(), "1.0");
    }

    proptest! {
        #[test]
        fn order_is_as_of_floats_where_they_are_exact(a in -1_000_000_i64..1_000_000, b in -1e6_f64..1e6) {
            let exact = Number::from(a).cmp(&Number::from_float(b).unwrap());
            prop_assert_eq!(Some(exact), (a as f64).partial_cmp(&b));
        }

        #[test]
        fn printing_and_reading_give_the_same_number(bits in any::<u64>()) {
            if let Some(number) = Number::from_float(f64::from_bits(bits)) {
                let again: serde_json::Number = serde_json::from_str(&number.to_string()).unwrap();
                prop_assert_eq!(again.as_f64(), Some(f64::from_bits(bits)));
            }
        }
    }
}
