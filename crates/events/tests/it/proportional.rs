//! Reading an event takes time in proportion to it, whatever is in it.

use waypost_events::{Data, Pattern};

use crate::doubling::assert_proportional;

#[test]
fn data_and_patterns_are_read_in_time_in_proportion_to_them() {
    for part in ["\"k#\":1,", "\"a\":1,", "\\n", "\\u00e9"] {
        let data = |bytes: usize| {
            let numbered = |number: usize| part.replace('#', &number.to_string());
            let parts: String = (0..bytes / part.len()).map(numbered).collect();
            [
                format!("{{{parts}\"z\":1}}"),
                format!("{{\"z\":\"{}\"}}", part.repeat(bytes / part.len())),
            ]
        };
        assert_proportional(part, 1 << 16, data, |texts| {
            texts.iter().filter(|text| serde_json::from_str::<Data>(text).is_ok()).count()
        });
    }
    for part in ["a", "*", "a:", ":*"] {
        let text = |bytes: usize| part.repeat(bytes / part.len());
        assert_proportional(part, 1 << 16, text, |text| text.parse::<Pattern>().is_ok());
    }
}
