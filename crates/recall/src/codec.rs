//! Values as little-endian bytes; docs/formats.md describes them. Decoding trusts no length: any bytes
//! are a value, or none.

use std::sync::Arc;

use waypost_time::Timestamp;

use crate::limits::SESSION_BYTES_MAX;
use crate::{Part, Reason, Refusal, SessionKey, Silence, Used, Withheld};

/// A value in a record.
pub(crate) trait Field: Sized {
    fn put(&self, out: &mut Vec<u8>);

    /// Takes the value from the beginning of the bytes.
    fn take(input: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty),+) => {$(
        impl Field for $number {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn take(input: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = input.split_first_chunk()?;
                *input = rest;
                Some(Self::from_le_bytes(*bytes))
            }
        }
    )+};
}

numbers!(u8, u32, u64, i64, f32);

impl Field for bool {
    fn put(&self, out: &mut Vec<u8>) {
        u8::from(*self).put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        match u8::take(input)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Field for Timestamp {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_millis().put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let millis = i64::take(input)?;
        Some(Self::from_millis(millis)).filter(|time| time.as_millis() == millis)
    }
}

impl Field for Arc<str> {
    fn put(&self, out: &mut Vec<u8>) {
        length(self.len()).put(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        let length = u32::take(input)? as usize;
        let (text, rest) = input.split_at_checked(length)?;
        *input = rest;
        let text = std::str::from_utf8(text).ok()?;
        (length <= SESSION_BYTES_MAX).then(|| text.into())
    }
}

impl<T: Field> Field for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        if bool::take(input)? { T::take(input).map(Some) } else { Some(None) }
    }
}

impl<T: Field> Field for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        length(self.len()).put(out);
        for value in self {
            value.put(out);
        }
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        // No allocation before the bytes of an element were found.
        (0..u32::take(input)?).map(|_| T::take(input)).collect()
    }
}

fn length(length: usize) -> u32 {
    u32::try_from(length).expect("the limits keep every length below 4 Gi")
}

macro_rules! structs {
    ($($name:ident { $($field:ident),+ }),+) => {$(
        impl Field for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)+
            }

            fn take(input: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: Field::take(input)?),+ })
            }
        }
    )+};
}

structs!(SessionKey { session, space }, Used { id, part, score }, Withheld { id, reason, score });

/// Vocabularies: the code of a value is its position from 1, so values are only added at the end.
macro_rules! codes {
    ($($name:ident: $($value:ident),+;)+) => {$(
        impl Field for $name {
            fn put(&self, out: &mut Vec<u8>) {
                let at = Self::CODES.iter().position(|value| value == self);
                out.push(at.expect("the table has every value") as u8 + 1);
            }

            fn take(input: &mut &[u8]) -> Option<Self> {
                Self::CODES.get(usize::from(u8::take(input)?).checked_sub(1)?).copied()
            }
        }

        impl $name {
            pub(crate) const CODES: &[Self] = &[$(Self::$value),+];
        }
    )+};
}

codes! {
    Refusal: Malformed, TooLarge, Invalid;
    Part: Pinned, Decision, Thread, Task, Answer;
    Reason: BelowThreshold, AlreadyInjected, SameSession, Budget, Superseded;
    Silence: ShortPrompt, NothingFound, NotAnswerable, AllWithheld;
}
