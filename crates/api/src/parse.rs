//! Strict parsing of bodies and query strings.

#![expect(
    clippy::result_large_err,
    reason = "a refused request is rare, and its caller wants the problem itself"
)]

mod explain;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::{Map, Value};

pub(crate) use self::explain::explain;
use crate::limits::{Check, Faults};
use crate::strict::{self, Tree};
use crate::{FieldError, Problem, query};

/// Parses a JSON body: well-formed, only known fields, valid types, within the limits.
///
/// # Errors
/// 400 for JSON that is not acceptable (with line and column): malformed, not UTF-8, a NUL character, a lone surrogate,
/// nested deeper than 32 levels, a repeated key, a number beyond the range of a 64-bit float. 422 for the first field
/// that is unknown (with the nearest known name), missing or of the wrong type; otherwise for all that are out of range.
pub fn parse_body<T: DeserializeOwned + Check>(body: &[u8]) -> Result<T, Problem> {
    parse_body_with(body, |_, _| ())
}

/// The same with another check, for what only the caller knows. It is also made if fields are out of range.
///
/// # Errors
/// As [`parse_body`].
pub fn parse_body_with<T: DeserializeOwned + Check>(
    body: &[u8],
    also: impl Fn(&T, &mut Faults),
) -> Result<T, Problem> {
    if is_blank(body) {
        return Err(Problem::new(400, "the body is empty; expected a JSON object"));
    }
    parse_object(body, also)
}

/// The same for an optional body: an empty one means all defaults.
///
/// # Errors
/// As [`parse_body`].
pub fn parse_optional_body<T: DeserializeOwned + Check + Default>(
    body: &[u8],
) -> Result<T, Problem> {
    parse_optional_body_with(body, |_, _| ())
}

/// The same with another check, as [`parse_body_with`].
///
/// # Errors
/// As [`parse_body`].
pub fn parse_optional_body_with<T: DeserializeOwned + Check + Default>(
    body: &[u8],
    also: impl Fn(&T, &mut Faults),
) -> Result<T, Problem> {
    if is_blank(body) { Ok(T::default()) } else { parse_object(body, also) }
}

/// The same for fields that were read as JSON before, with another check as [`parse_body_with`].
///
/// # Errors
/// As [`parse_body`].
pub fn parse_fields<T: DeserializeOwned + Check>(
    fields: Map<String, Value>,
    also: impl Fn(&T, &mut Faults),
) -> Result<T, Problem> {
    let fields = strict::parse_value(Value::Object(fields)).map_err(not_json)?;
    checked(read(fields, '/')?, Faults::of_body(), also)
}

/// Parses a body whose fields are validated elsewhere: a JSON object, or an empty body for none.
///
/// # Errors
/// As [`parse_body`] if it is not acceptable JSON, or not an object.
pub fn parse_arguments(body: &[u8]) -> Result<Map<String, Value>, Problem> {
    if is_blank(body) {
        return Ok(Map::new());
    }
    Map::deserialize(object(body)?).map_err(|error| Problem::new(400, error.to_string()))
}

fn parse_object<T: DeserializeOwned + Check>(
    body: &[u8],
    also: impl Fn(&T, &mut Faults),
) -> Result<T, Problem> {
    let value = read(object(body)?, '/')?;
    checked(value, Faults::of_body(), also)
}

/// A JSON object, and nothing else.
fn object(body: &[u8]) -> Result<Tree, Problem> {
    match strict::parse(body) {
        Ok(object @ Tree::Object(_)) => Ok(object),
        Ok(other) => {
            let message = format!("the body must be a JSON object, not {}", other.kind());
            Err(Problem::field("", message))
        }
        Err(error) => Err(not_json(error)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it maps an error")]
fn not_json(error: serde_json::Error) -> Problem {
    let error = error.to_string();
    // The JSON is valid; it is this API that does not take it.
    let is_valid = [strict::NUL, strict::OUT_OF_RANGE].iter().any(|it| error.starts_with(it));
    let what = if is_valid { "refused" } else { "not valid JSON" };
    Problem::new(400, format!("the body is {what}: {error}"))
}

fn read<'de, T: DeserializeOwned>(
    input: impl Deserializer<'de>,
    prefix: char,
) -> Result<T, Problem> {
    serde_path_to_error::deserialize(input).map_err(|error| {
        Problem::fields(vec![explain(error.path(), &error.inner().to_string(), prefix)])
    })
}

/// Reads a JSON value of a file, whose limits are checked elsewhere, as strictly as a body.
///
/// # Errors
/// The field that is wrong, and what would be valid.
pub fn read_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, FieldError> {
    let tree = strict::parse(json)
        .map_err(|error| FieldError { pointer: String::new(), message: error.to_string() })?;
    serde_path_to_error::deserialize(tree)
        .map_err(|error| explain(error.path(), &error.inner().to_string(), '/'))
}

/// Parses a query string: only known parameters, valid types, within the limits.
///
/// # Errors
/// 400 if the percent-encoding is malformed, not UTF-8 or contains a NUL; 422 for an invalid parameter.
pub fn parse_query<T: DeserializeOwned + Check>(query: &str) -> Result<T, Problem> {
    parse_query_with(query, |_, _| ())
}

/// The same with another check, as [`parse_body_with`].
///
/// # Errors
/// As [`parse_query`].
pub fn parse_query_with<T: DeserializeOwned + Check>(
    query: &str,
    also: impl Fn(&T, &mut Faults),
) -> Result<T, Problem> {
    let value = read(query::Pairs::new(query::pairs(query)?), '?')?;
    checked(value, Faults::of_query(), also)
}

/// Parses the id in a path such as `/api/memory/{id}`.
///
/// # Errors
/// 422 if it is not a whole number between 1 and 2^53 - 1.
pub fn parse_id(text: &str) -> Result<u64, Problem> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(id) if plain && (1..=crate::limits::ID_MAX).contains(&id) => Ok(id),
        _ => Err(Problem::new(
            422,
            "the id in the path must be a whole number between 1 and 9007199254740991 (2^53 - 1)",
        )),
    }
}

fn checked<T: Check>(
    value: T,
    mut faults: Faults,
    also: impl Fn(&T, &mut Faults),
) -> Result<T, Problem> {
    let mut more = faults.none();
    value.check(&mut faults);
    also(&value, &mut more);
    let mut found = faults.into_vec();
    for fault in more.into_vec() {
        if found.iter().all(|known| known.pointer != fault.pointer) {
            found.push(fault);
        }
    }
    if found.is_empty() { Ok(value) } else { Err(Problem::fields(found)) }
}

fn is_blank(body: &[u8]) -> bool {
    body.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}

/// The known name that is similar enough to be meant.
pub(crate) fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    let folded = |text: &str| {
        let chars = text.chars().filter(|c| !matches!(c, '_' | '-'));
        chars.flat_map(char::to_lowercase).collect::<String>()
    };
    let given = folded(given);
    if given.chars().count() > 64 {
        return None;
    }
    known
        .iter()
        .map(|name| (strsim::levenshtein(&given, &folded(name)), *name))
        .min_by_key(|(steps, _)| *steps)
        .filter(|(steps, name)| *steps <= (name.len() / 3).max(1))
        .map(|(_, name)| name)
}
