use super::*;

fn redacted(text: &str, is_code: bool) -> (String, Vec<(&'static str, u32)>) {
    let (text, counts) = redact(text, is_code);
    (text.into_owned(), counts.into_iter().collect())
}

/// The secrets are put together here, so that no scanner takes this file for a leak.
fn letters(length: usize) -> String {
    "aB3dE5gH7jK9mN1pQ2sT4vW6xY8z".chars().cycle().take(length).collect()
}

fn planted() -> Vec<(&'static str, String)> {
    let upper = letters(16).to_uppercase();
    let mut all = vec![
        ("aws-access-key", format!("AKIA{upper}")),
        ("aws-access-key", format!("ASIA{upper}")),
        ("github-token", format!("github_pat_{}", letters(60))),
        ("gitlab-token", format!("glpat-{}", letters(20))),
        ("slack-token", format!("xoxb-12345678901-{}", letters(20))),
        (
            "slack-webhook",
            format!("https://hooks.slack.com/services/T00000000/B00000000/{}", letters(24)),
        ),
        ("stripe-key", format!("sk_live_{}", letters(24))),
        ("google-key", format!("AIza{}", letters(35))),
        ("google-token", format!("ya29.{}", letters(60))),
        ("anthropic-key", format!("sk-ant-api03-{}", letters(80))),
        ("openai-key", format!("sk-proj-{}", letters(80))),
        ("openai-key", format!("sk-{}", letters(48))),
        ("npm-token", format!("npm_{}", letters(36))),
        ("pypi-token", format!("pypi-AgEIcHlwaS5vcmc{}", letters(60))),
        ("sendgrid-key", format!("SG.{}.{}", letters(22), letters(43))),
        ("huggingface-token", format!("hf_{}", letters(34))),
        ("jwt", format!("eyJ{}.eyJ{}.{}", letters(20), letters(40), letters(43))),
        (
            "private-key",
            format!(
                "-----BEGIN RSA PRIVATE KEY-----\n{}\n{}\n-----END RSA PRIVATE KEY-----",
                letters(64),
                letters(64)
            ),
        ),
        (
            "private-key",
            format!(
                "-----BEGIN OPENSSH PRIVATE KEY-----\\n{}\\n-----END OPENSSH PRIVATE KEY-----",
                letters(64)
            ),
        ),
    ];
    for start in ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"] {
        all.push(("github-token", format!("{start}{}", letters(36))));
    }
    all
}

#[test]
fn tokens_of_known_shape_are_replaced_wherever_they_stand() {
    for (what, secret) in planted() {
        for (before, after) in [
            ("", ""),
            ("key: ", "\n"),
            ("let t = \"", "\";"),
            ("see ", " there"),
            ("TOKEN=", "\n"),
            ("Authorization: Bearer ", "\r\n"),
        ] {
            for is_code in [false, true] {
                let (text, counts) = redacted(&format!("{before}{secret}{after}"), is_code);
                assert_eq!(counts, [(what, 1)], "{before}{secret}{after}: {text}");
                let breaks: String = secret.chars().filter(|it| *it == '\n').collect();
                assert_eq!(text, format!("{before}[redacted:{what}]{breaks}{after}"));
            }
        }
    }
}

#[test]
fn values_of_secret_settings_are_replaced() {
    let value = "tr0ub4dor&3x";
    for line in [
        "password = \"VALUE\"",
        "DB_PASSWORD='VALUE'",
        "\"apiKey\": \"VALUE\",",
        "const API_TOKEN: &str = \"VALUE\";",
        "let clientSecret: string = 'VALUE';",
        "aws_secret_access_key => \"VALUE\"",
        "settings[\"secret\"] = \"VALUE\"",
        "password := `VALUE`",
    ] {
        let line_with = line.replace("VALUE", value);
        assert_eq!(
            redacted(&line_with, true),
            (line.replace("VALUE", "[redacted:secret]"), vec![("secret", 1)])
        );
        assert_eq!(redacted(&line_with, false).1, [("secret", 1)]);
    }
    for line in [
        "password: VALUE",
        "export API_KEY=VALUE",
        "* **Token:** VALUE",
        "passwd VALUE:",
        "db_password: VALUE # staging",
    ] {
        let (text, counts) = redacted(&line.replace("VALUE", value), false);
        let expected = u32::from(!line.ends_with(':'));
        assert_eq!(counts.iter().map(|it| it.1).sum::<u32>(), expected, "{text}");
    }
    let url = redacted("postgres://app:s3cret-pw@db.local/app", true);
    assert_eq!(url.0, "postgres://app:[redacted:url-password]@db.local/app");
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    for text in [
        "token = self.tokens.next_token_kind()",
        "password: String,",
        "let token: Token = Token::new(kind, range);",
        "\"token\": \"identifier\"",
        "password = \"${DB_PASSWORD}\"",
        "password = \"your-password-1\"",
        "api_key = os.environ[\"API_KEY\"]",
        "secret: <your secret 123>",
        "tokenization: \"byte-pair\"",
        "class=\"sk-fading-circle-container\"",
        "task-abcdefghijklmnopqrstuvwxyz012345",
        "disk-usage-of-the-whole-machine-at-12h00",
        "https://example.com:8080/a@b",
        "https://user@host/path",
        "git@github.com:a/b.git",
        "eyJust a word.eyJ",
        "-----BEGIN CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----",
        "AKIAFAR",
        "ghp_short",
        "the token is not for everyone: see SECURITY.md",
    ] {
        assert_eq!(redacted(text, true), (text.to_owned(), vec![]));
    }
}

#[test]
fn hostile_texts_do_no_harm() {
    for text in [
        "password=",
        "password=\"",
        "token: é",
        "://",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "bearer ",
        "eyJ",
        "secret=\u{1F600}\u{1F600}\u{1F600}",
    ] {
        drop(redacted(text, false));
        drop(redacted(&text.repeat(3), true));
    }
    assert_eq!(
        redacted("-----BEGIN PRIVATE KEY-----\nMIIB\nMIIC", false).0,
        "[redacted:private-key]\n\n"
    );
}
