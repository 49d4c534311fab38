use std::collections::HashSet;

use proptest::prelude::*;
use waypost_auth::{Malformed, NewToken, Scope, Scopes, Token, TokenId};

use crate::{NOW, Place};

fn some_tokens(count: usize) -> Vec<String> {
    let place = Place::new();
    let store = place.open();
    let new = || NewToken::new([Scope::MemoryRead]);
    (0..count).map(|_| store.create(new(), NOW).unwrap().0.expose().to_owned()).collect()
}

#[test]
fn a_token_has_the_documented_form() {
    for token in some_tokens(20) {
        let mut parts = token.split('_');
        assert_eq!(parts.next(), Some("wp"));
        let id = parts.next().unwrap();
        assert_eq!(id.len(), 10);
        assert_eq!(parts.next().map(str::len), Some(43 + 6));
        assert_eq!(parts.next(), None);
        assert_eq!(Token::parse(&token).unwrap().id().as_str(), id);
    }
}

#[test]
fn no_two_tokens_are_alike_and_every_character_is_drawn() {
    let tokens = some_tokens(60);
    let ids: HashSet<_> = tokens.iter().map(|token| Token::parse(token).unwrap().id()).collect();
    assert_eq!(ids.len(), tokens.len());
    // 60 tokens contain 3,180 random characters: the probability that one of 62 is missing is below
    // 1e-20.
    let drawn: HashSet<char> = tokens.iter().flat_map(|token| token[3..57].chars()).collect();
    assert_eq!(drawn.len(), 62 + 1, "letters, digits and the part mark");
}

#[test]
fn every_change_of_one_character_is_noticed() {
    for token in some_tokens(3) {
        for at in 0..token.len() {
            let changed = |with: &str| format!("{}{with}{}", &token[..at], &token[at + 1..]);
            for byte in 0..=127_u8 {
                if byte != token.as_bytes()[at] {
                    let other = changed(char::from(byte).encode_utf8(&mut [0; 4]));
                    assert!(Token::parse(&other).is_err(), "{at} {byte}");
                }
            }
            assert!(Token::parse(&changed("é")).is_err());
            assert!(Token::parse(&changed("")).is_err(), "left out");
            let doubled = format!("{}{}", &token[..=at], &token[at..]);
            assert!(Token::parse(&doubled).is_err(), "doubled");
            if at > 0 && token.as_bytes()[at] != token.as_bytes()[at - 1] {
                let mut swapped = token.clone().into_bytes();
                swapped.swap(at, at - 1);
                assert!(Token::parse(std::str::from_utf8(&swapped).unwrap()).is_err(), "swapped");
            }
        }
    }
}

#[test]
fn what_is_wrong_is_told() {
    let token = &some_tokens(1)[0];
    let last = if token.ends_with('a') { "b" } else { "a" };
    for (text, wrong) in [
        (String::new(), Malformed::Prefix),
        (format!("WP_{}", &token[3..]), Malformed::Prefix),
        (format!(" {token}"), Malformed::Prefix),
        (format!("{token}\n"), Malformed::Length),
        ("wp_".into(), Malformed::Length),
        ("wp_".repeat(400_000), Malformed::Length),
        (token.replace('_', "-").replacen("wp-", "wp_", 1), Malformed::Character),
        (format!("{}\0", &token[..token.len() - 1]), Malformed::Character),
        (format!("{}{last}", &token[..token.len() - 1]), Malformed::Checksum),
    ] {
        assert_eq!(Token::parse(&text), Err(wrong), "{:?}", text.get(..70));
    }
}

#[test]
fn a_secret_does_not_show_itself() {
    let place = Place::new();
    let (secret, made) = place.open().create(NewToken::new([Scope::Admin]), NOW).unwrap();
    let hidden = &secret.expose()[14..];
    let token = Token::parse(secret.expose()).unwrap();
    for shown in [format!("{secret:?}"), format!("{token:?}"), format!("{made:?}")] {
        assert!(!shown.contains(hidden), "{shown}");
    }
    let kept = std::fs::read_to_string(place.file()).unwrap();
    assert!(!kept.contains(hidden) && !kept.contains(&secret.expose()[14..57]));
    assert!(kept.contains(made.id.as_str()));
}

#[test]
fn scopes_have_the_documented_names() {
    let names: Vec<_> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    assert_eq!(
        names,
        [
            "memory:read",
            "memory:write",
            "context:read",
            "events:read",
            "events:publish",
            "flows:read",
            "flows:run",
            "browser:use",
            "admin"
        ]
    );
    for scope in Scope::ALL {
        assert_eq!(scope.as_str().parse(), Ok(scope));
        let alone: Scopes = [scope].into_iter().collect();
        for other in Scope::ALL {
            let expected = scope == other || scope == Scope::Admin;
            assert_eq!(alone.allows(other), expected, "{scope} {other}");
        }
        assert_eq!(alone.iter().collect::<Vec<_>>(), [scope]);
        assert!(!Scopes::default().allows(scope));
    }
    for wrong in ["", "Admin", "memory", "memory:read ", "memory:*", "events:write"] {
        let error = wrong.parse::<Scope>().unwrap_err().to_string();
        assert!(error.contains("memory:read, memory:write"), "{error}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_parsing_panic(text in ".{0,80}") {
        prop_assert!(Token::parse(&text).is_err());
        prop_assert!(text.parse::<Scope>().is_err() || text == "admin");
        prop_assert!(text.parse::<TokenId>().is_ok_and(|id| id.as_str() == text) || text.parse::<TokenId>().is_err());
    }

    #[test]
    fn no_text_of_the_right_form_makes_parsing_panic(text in "wp_[0-9A-Za-zé]{10}_[0-9A-Za-z_]{47,49}") {
        // One in 62^6 random texts of this form has a matching checksum.
        prop_assert!(Token::parse(&text).is_err());
    }
}
