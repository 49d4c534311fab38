//! Numbers in a JSON text that are beyond the range of a 64-bit float, such as `1e999`.

/// Characters of a number that a message shows.
const SHOWN_CHARS_MAX: usize = 40;

/// A JSON text with `1e308` or `-1e308` in place of the numbers that no reader can hold, and the
/// first of these numbers as it was written; `None` if there are none, or the text is not UTF-8.
pub(crate) fn tamed(json: &[u8]) -> Option<(Vec<u8>, String)> {
    let json = std::str::from_utf8(json).ok()?;
    let (mut tamed, mut first) = (String::with_capacity(json.len()), None);
    let mut rest = json;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        tamed.push_str(before);
        let len = if from.starts_with('"') { text_len(from) } else { number_len(from) };
        let (token, after) = from.split_at(len);
        rest = after;
        let is_beyond = token.parse::<f64>().is_ok_and(f64::is_infinite);
        if !is_beyond {
            tamed.push_str(token);
            continue;
        }
        tamed.push_str(if token.starts_with('-') { "-1e308" } else { "1e308" });
        first.get_or_insert_with(|| shown(token));
    }
    tamed.push_str(rest);
    first.map(|first| (tamed.into_bytes(), first))
}

/// The length of a text in double quotes at the beginning.
fn text_len(json: &str) -> usize {
    let mut bytes = json.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return at + 1,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    json.len()
}

fn number_len(json: &str) -> usize {
    let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    json.bytes().position(|byte| !is_part(byte)).unwrap_or(json.len())
}

fn shown(number: &str) -> String {
    if number.len() <= SHOWN_CHARS_MAX {
        return number.to_owned();
    }
    format!("{}...", &number[..SHOWN_CHARS_MAX])
}

#[cfg(test)]
mod tests {
    use super::tamed;

    #[test]
    fn only_numbers_out_of_range_are_replaced() {
        let json = r#"{"a":"1e999\"1e999","b":[-1e999,1e99,2],"ü":1E+4000}"#;
        let (tamed_json, first) = tamed(json.as_bytes()).expect("two numbers");
        let expected = r#"{"a":"1e999\"1e999","b":[-1e308,1e99,2],"ü":1e308}"#;
        assert_eq!(String::from_utf8_lossy(&tamed_json), expected);
        assert_eq!(first, "-1e999");
        assert_eq!(tamed(br#"{"a":1e99}"#), None);
        let (_, first) = tamed("9".repeat(5000).as_bytes()).expect("a long number");
        assert_eq!(first.len(), 43);
    }
}
