//! Strict parsing of bodies and query strings.

#![expect(
    clippy::result_large_err,
    reason = "a refused request is rare, and its caller wants the problem itself"
)]

mod explain;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use self::explain::OUT_OF_RANGE;
pub(crate) use self::explain::{explain, kind_of};
use crate::limits::{Check, FAULTS_MAX, Faults};
use crate::shape::Shaped;
use crate::{FieldError, Problem, numerals, query, strict};

/// Parses a JSON body: well-formed, only known fields, valid types, within the limits.
///
/// # Errors
/// 400 for JSON that is not acceptable (with line and column): malformed, not UTF-8, a NUL character, a lone surrogate,
/// nested deeper than 32 levels, a repeated key. 422 for an invalid field: unknown (with the nearest known name),
/// missing, of the wrong type, out of range.
pub fn parse_body<T: DeserializeOwned + Check>(body: &[u8]) -> Result<T, Problem> {
    parse_body_with(body, |_, _| ())
}

/// The same with another check, for what only the caller knows. It is also made if other fields are
/// invalid.
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
    parse_line(body, &also)
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
    if is_blank(body) { Ok(T::default()) } else { parse_line(body, &also) }
}

/// The same for fields that were read as JSON before, with another check as [`parse_body_with`]: of a wrong type, only
/// the first is reported.
///
/// # Errors
/// As [`parse_body`].
pub fn parse_fields<T: DeserializeOwned + Check>(
    fields: Map<String, Value>,
    also: impl Fn(&T, &mut Faults),
) -> Result<T, Problem> {
    let fields = Value::Object(fields);
    strict::check_value(&fields).map_err(not_json)?;
    let found = match serde_path_to_error::deserialize(Shaped(fields)) {
        Ok(value) => {
            let found = checked(&value, Faults::of_body(), &also);
            if found.is_empty() {
                return Ok(value);
            }
            found
        }
        Err(error) => vec![explain(error.path(), &error.inner().to_string(), '/')],
    };
    Err(Problem::fields(found))
}

/// Parses a body whose fields are validated elsewhere: a JSON object, or an empty body for none.
///
/// # Errors
/// As [`parse_body`] if it is not acceptable JSON, or not an object.
pub fn parse_arguments(body: &[u8]) -> Result<Map<String, Value>, Problem> {
    if is_blank(body) {
        return Ok(Map::new());
    }
    check_object(body)?;
    serde_json::from_slice(body).map_err(not_json)
}

#[expect(clippy::needless_pass_by_value, reason = "it maps an error")]
fn not_json(error: serde_json::Error) -> Problem {
    let error = error.to_string();
    // The JSON is valid; it is this API that does not take the character.
    if error.starts_with(strict::NUL) {
        return Problem::new(400, format!("the body is refused: {error}"));
    }
    Problem::new(400, format!("the body is not valid JSON: {error}"))
}

type Also<'a, T> = &'a dyn Fn(&T, &mut Faults);

fn parse_line<T: DeserializeOwned + Check>(body: &[u8], also: Also<'_, T>) -> Result<T, Problem> {
    check_object(body)?;
    let mut input = serde_json::Deserializer::from_slice(body);
    match serde_path_to_error::deserialize(Shaped(&mut input)) {
        Ok(value) => {
            let found = checked(&value, Faults::of_body(), also);
            if found.is_empty() { Ok(value) } else { Err(Problem::fields(found)) }
        }
        Err(error) => {
            let first = explain(error.path(), &error.inner().to_string(), '/');
            Err(Problem::fields(match numerals::tamed(body) {
                Some((tamed, numeral)) if first.message == OUT_OF_RANGE => {
                    out_of_range(&tamed, &numeral, first, also)
                }
                _ => all_faults(body, first, also),
            }))
        }
    }
}

/// A longer body is not parsed again for each of its invalid fields: only the first is reported.
const REPEATED_BYTES_MAX: usize = 64 << 10;

/// The invalid fields of a body with a number that no JSON reader can hold, written as `numeral`;
/// `tamed` is the body with a large number there, so that the field's own range applies.
fn out_of_range<T: DeserializeOwned + Check>(
    tamed: &[u8],
    numeral: &str,
    first: FieldError,
    also: Also<'_, T>,
) -> Vec<FieldError> {
    let mut input = serde_json::Deserializer::from_slice(tamed);
    let mut found = match serde_path_to_error::deserialize(Shaped(&mut input)) {
        Ok(value) => checked(&value, Faults::of_body(), also),
        Err(error) => {
            let fault = explain(error.path(), &error.inner().to_string(), '/');
            all_faults(tamed, fault, also)
        }
    };
    match found.iter_mut().find(|it| it.pointer == first.pointer) {
        Some(it) => {
            if let Some((valid, _)) = it.message.rsplit_once(", not ") {
                it.message = format!("{valid}, not {numeral}");
            }
        }
        None => found.insert(0, first),
    }
    found
}

/// All invalid fields of a body, not only the one at which parsing stopped: invalid values are removed or replaced, and
/// missing ones are added, until the rest can be parsed.
fn all_faults<T: DeserializeOwned + Check>(
    body: &[u8],
    first: FieldError,
    also: Also<'_, T>,
) -> Vec<FieldError> {
    if body.len() > REPEATED_BYTES_MAX {
        return vec![first];
    }
    let Ok(mut body) = serde_json::from_slice::<Value>(body) else { return vec![first] };
    let (mut found, mut mended) = (Vec::new(), Vec::<String>::new());
    let mut fault = first;
    while found.len() < FAULTS_MAX && mended.len() < 2 * FAULTS_MAX {
        let pointer = fault.pointer.clone();
        if !mended.contains(&pointer) {
            found.push(fault);
        }
        let Some(at) = mend::<T>(&mut body, &pointer) else { return found };
        mended.extend([pointer, at]);
        match read::<T>(&body) {
            Ok(value) => {
                // An object that lost members here is not judged as a whole.
                let is_parent = |it: &FieldError, of: &String| {
                    of.rsplit_once('/').is_some_and(|(parent, _)| parent == it.pointer)
                };
                let is_new = |it: &FieldError| {
                    !mended.iter().any(|mended| *mended == it.pointer || is_parent(it, mended))
                };
                let more = checked(&value, Faults::of_body(), also);
                found.extend(more.into_iter().filter(is_new));
                found.truncate(FAULTS_MAX);
                return found;
            }
            Err(next) => fault = next,
        }
    }
    found
}

/// Changes the value at a pointer so that another fault may be found: a value of an object is removed, or added if it
/// is missing; an element of an array is replaced. Returns the pointer of what changed: the value, or one that contains
/// it.
fn mend<T: DeserializeOwned>(body: &mut Value, pointer: &str) -> Option<String> {
    let (parent, name) = pointer.rsplit_once('/')?;
    let name = name.replace("~1", "/").replace("~0", "~");
    let removed = match body.pointer_mut(parent) {
        Some(Value::Object(fields)) => fields.remove(&name).is_some(),
        _ => false,
    };
    let mends = removed
        || stand_ins().into_iter().any(|value| {
            let place = body.pointer_mut(parent).and_then(|it| match it {
                Value::Object(fields) => Some(fields.entry(name.clone()).or_insert(Value::Null)),
                Value::Array(all) => all.get_mut(name.parse::<usize>().ok()?),
                _ => None,
            });
            let Some(place) = place else { return false };
            *place = value;
            read::<T>(body).err().is_none_or(|it| it.pointer != pointer)
        });
    if mends { Some(pointer.to_owned()) } else { mend::<T>(body, parent) }
}

fn read<T: DeserializeOwned>(body: &Value) -> Result<T, FieldError> {
    serde_path_to_error::deserialize(Shaped(body))
        .map_err(|error| explain(error.path(), &error.inner().to_string(), '/'))
}

fn stand_ins() -> [Value; 7] {
    let object = || Value::Object(Map::new());
    let array = |it: Vec<Value>| Value::Array(it);
    [
        Value::String("x".to_owned()),
        // Not 1: a check against another field would fail for a number that the caller did not give.
        Value::from(0),
        Value::Bool(true),
        object(),
        array(Vec::new()),
        Value::String("updates".to_owned()),
        Value::String("a:b".to_owned()),
    ]
}

/// Rejects JSON that is not acceptable, and anything that is not an object.
fn check_object(body: &[u8]) -> Result<(), Problem> {
    match strict::check(body) {
        // It belongs to a field: reading the body reports it there.
        Err(error) if error.to_string().starts_with("number out of range") => {}
        checked => checked.map_err(not_json)?,
    }
    if let Some(other) = kind_of(body).filter(|it| *it != "an object") {
        return Err(Problem::field("", format!("the body must be a JSON object, not {other}")));
    }
    Ok(())
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
    let mut pairs = query::pairs(query)?;
    let mut found: Vec<FieldError> = Vec::new();
    let is_told = |found: &[FieldError], name: &str| found.iter().any(|it| parameter(it) == name);
    while found.len() < FAULTS_MAX {
        match read_query(&pairs) {
            Ok(value) => {
                let more = checked(&value, Faults::of_query(), &also);
                let more: Vec<_> =
                    more.into_iter().filter(|it| !is_told(&found, &parameter(it))).collect();
                found.extend(more);
                return if found.is_empty() { Ok(value) } else { Err(Problem::fields(found)) };
            }
            Err(fault) => {
                let name = parameter(&fault);
                if !is_told(&found, &name) {
                    found.push(fault);
                }
                let before = pairs.len();
                pairs.retain(|(it, _)| *it != name);
                if pairs.len() == before && !supply::<T>(&mut pairs, &name) {
                    break;
                }
            }
        }
    }
    Err(Problem::fields(found))
}

fn read_query<T: DeserializeOwned>(pairs: &[query::Pair]) -> Result<T, FieldError> {
    serde_path_to_error::deserialize(query::Pairs::new(pairs.to_vec()))
        .map_err(|error| explain(error.path(), &error.inner().to_string(), '?'))
}

/// The name of the parameter that a fault is about.
fn parameter(fault: &FieldError) -> String {
    let name = fault.pointer.trim_start_matches('?').split('/').next().unwrap_or_default();
    name.replace("~1", "/").replace("~0", "~")
}

/// Adds a missing parameter, with a value that can be parsed; `false` if there is none.
fn supply<T: DeserializeOwned>(pairs: &mut Vec<query::Pair>, name: &str) -> bool {
    ["1", "x", "updates", "a:b"].into_iter().any(|value| {
        pairs.retain(|(it, _)| it != name);
        pairs.push((name.to_owned(), vec![value.to_owned()]));
        read_query::<T>(pairs).err().is_none_or(|it| parameter(&it) != name)
    })
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

fn checked<T: Check>(value: &T, mut faults: Faults, also: Also<'_, T>) -> Vec<FieldError> {
    let mut more = faults.none();
    value.check(&mut faults);
    also(value, &mut more);
    let mut found = faults.into_vec();
    let told: Vec<String> = found.iter().map(|it| it.pointer.clone()).collect();
    found.extend(more.into_vec().into_iter().filter(|it| !told.contains(&it.pointer)));
    found
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
