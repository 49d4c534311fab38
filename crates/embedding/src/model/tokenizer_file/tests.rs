use serde_json::{Value, json};

use super::charsmap::growth;
use super::steps::{Budget, normalizer, pre_tokenizer};
use super::{Checks, check_size};

const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Rules in which `key` has the replacement at `place`.
fn charsmap(key: &[u8], place: u32, replacements: &[u8]) -> String {
    // Each byte of the key has a block of 256 places of its own.
    let mut units = vec![0_u32; 256 * (key.len() + 1)];
    let mut base = 0_usize;
    for (index, byte) in key.iter().enumerate() {
        let here = base ^ usize::from(*byte);
        let child = 256 * (index + 1);
        let ends = u32::from(index + 1 == key.len());
        units[here] = ((here ^ child) as u32) << 10 | ends << 8 | u32::from(*byte);
        base = child;
    }
    units[base] = 1 << 31 | place;
    let mut bytes = (units.len() as u32 * 4).to_le_bytes().to_vec();
    bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    bytes.extend(replacements);
    base64(&bytes)
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for some in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(*some.get(at).unwrap_or(&0)));
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit) & 63) as usize;
            text.push(if digit > some.len() { '=' } else { char::from(DIGITS[value]) });
        }
    }
    text
}

/// What a rule does to a text, by the library.
fn normalised(charsmap: &str, text: &str) -> usize {
    let rules = json!({ "type": "Precompiled", "precompiled_charsmap": charsmap }).to_string();
    let rules: tokenizers::normalizers::Precompiled = serde_json::from_str(&rules).unwrap();
    rules.normalize_string(text).len()
}

#[test]
fn the_growth_of_compiled_rules_is_that_of_the_library() {
    for (key, place, replacements, expected) in [
        ("a", 0, b"bbbbb\0".as_slice(), 5.0),
        ("a", 3, b"bbbbb\0", 2.0),
        ("é", 2, b"\0\0cccccccc\0ddd", 4.0),
        ("a\u{301}", 0, b"eeeeee", 2.0),
        ("ﷺ", 0, &[b'f'; 33], 11.0),
        ("a", 0, b"", 1.0),
    ] {
        let rules = charsmap(key.as_bytes(), place, replacements);
        assert_eq!(growth("here", &rules).unwrap(), expected, "{key}");
        if !replacements.is_empty() {
            assert_eq!(normalised(&rules, key) as f64, expected * key.len() as f64, "{key}");
        }
    }
}

#[test]
fn rules_that_are_not_compiled_ones_are_damage() {
    let short = base64(&[0, 0, 0, 1, 7]);
    for rules in ["", "A", "AA", "====", "A===", "AAAA", "!AAA", &short, &base64(&[0; 4])] {
        let fault = growth("here", rules).unwrap_err();
        assert!(fault.at == "here" && !fault.is_unsupported, "{rules}: {fault:?}");
    }
    // A child outside the array, and a child that is its own parent.
    for units in [[0xFFFF_FFFF_u32; 4], [0x161; 4]] {
        let bytes = [16_u32].iter().chain(&units).flat_map(|it| it.to_le_bytes());
        growth("here", &base64(&bytes.collect::<Vec<u8>>())).unwrap();
    }
}

fn growth_of(normalizers: &Value, pre_tokenizers: &Value) -> Checks<f64> {
    let mut budget = Budget::new();
    let value = json!({ "type": "Sequence", "normalizers": normalizers });
    normalizer(&mut budget, "normalizer", value)?;
    let value = json!({ "type": "Sequence", "pretokenizers": pre_tokenizers });
    pre_tokenizer(&mut budget, "pre_tokenizer", value)?;
    Ok(budget.growth())
}

#[test]
fn the_growth_of_steps_multiplies() {
    let replace = |pattern: &str, content: &str| json!({ "type": "Replace", "pattern": { "String": pattern }, "content": content });
    let space = json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always" });
    for (normalizers, pre_tokenizers, expected) in [
        (json!([]), json!([]), 1.0),
        (json!([{ "type": "NFKC" }]), json!([space]), 44.0),
        (json!([replace(" ", "▁"), { "type": "Prepend", "prepend": "▁" }]), json!([]), 12.0),
        (json!([replace("``", "\""), replace("a", "")]), json!([]), 1.0),
        (json!([replace("a", &"b".repeat(128))]), json!([]), 128.0),
    ] {
        assert_eq!(growth_of(&normalizers, &pre_tokenizers).unwrap(), expected);
    }
    for (normalizers, at) in [
        (json!([replace("a", &"b".repeat(129))]), "normalizer.normalizers[0]"),
        (json!([replace("a", &"b".repeat(257))]), "normalizer.normalizers[0].content"),
        (json!([replace("", "b")]), "normalizer.normalizers[0].pattern"),
        (json!([replace(&"a".repeat(257), "b")]), "normalizer.normalizers[0].pattern"),
        (
            json!([{ "type": "NFC" }, { "type": "Prepend", "prepend": "x".repeat(50) }]),
            "normalizer.normalizers[1]",
        ),
        (
            json!(vec![json!({ "type": "Strip", "strip_left": true, "strip_right": true }); 32]),
            "normalizer.normalizers[31]",
        ),
    ] {
        let fault = growth_of(&normalizers, &json!([])).unwrap_err();
        assert!(fault.at == at && fault.is_unsupported, "{fault:?}");
    }
    growth_of(&json!(vec![json!({ "type": "Nmt" }); 30]), &json!([])).unwrap();
}

#[test]
fn a_file_of_too_many_values_is_refused_before_it_is_parsed() {
    let most = vec![b','; super::VALUES_MAX];
    check_size(&most).unwrap();
    check_size(&[most, b"[".to_vec()].concat()).unwrap_err();
    check_size(&vec![b' '; super::FILE_BYTES_MAX]).unwrap();
    check_size(&vec![b' '; super::FILE_BYTES_MAX + 1]).unwrap_err();
}
