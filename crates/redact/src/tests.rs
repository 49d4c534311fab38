use super::*;

fn redacted(text: &str, is_code: bool) -> (String, Vec<(&'static str, u32)>) {
    let (text, counts) = redact(text, is_code);
    (text.into_owned(), counts.into_iter().collect())
}

/// The secrets are assembled here, so that no scanner takes this file for a leak.
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
                let breaks: String = secret.chars().filter(|c| *c == '\n').collect();
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
    let query = redacted("https://x/c?sig=aB3dE5gH7jK9mN1pQ2sT4v&se=2026", false).0;
    assert!(!query.contains("aB3dE5") && query.ends_with("]&se=2026"), "{query}");
    let url = redacted("postgres://app:s3cret-pw@db.local/app", true);
    assert_eq!(url.0, "postgres://app:[redacted:url-password]@db.local/app");
}

/// Lines that people and tools write and that contain no secret; every kind of false positive that
/// was ever found has one here.
#[test]
fn ordinary_lines_stay() {
    for line in include_str!("ordinary.txt").lines() {
        for is_code in [false, true] {
            assert_eq!(redacted(line, is_code), (line.to_owned(), vec![]));
        }
    }
}

#[test]
fn a_value_ends_where_the_next_setting_starts() {
    let value = "Tr0ub4dor3xQ";
    for line in [
        "PGPASSWORD=VALUE PGUSER=app psql",
        "DB_PASSWORD=VALUE DB_HOST=db DB_USER=app",
        "host=db password=VALUE dbname=app",
        "password: VALUE  user: app  host=db",
        "password: VALUE user=\"app\"",
        "jdbc:mysql://db/app?user=root&password=VALUE&useSSL=false",
        "client_secret=VALUE&grant_type=code",
        "vault kv put secret/db username=app password=VALUE host=db",
        "docker run -e POSTGRES_PASSWORD=VALUE POSTGRES_USER=app postgres",
    ] {
        let (text, counts) = redacted(&line.replace("VALUE", value), false);
        assert_eq!(text, line.replace("VALUE", "[redacted:secret]"));
        assert_eq!(counts, [("secret", 1)], "{line}");
    }
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

/// The keys of AWS's documentation have the form of real ones.
#[test]
fn keys_of_aws_are_replaced_also_those_of_examples() {
    let id = format!("AKIA{}", "IOSFODNN7EXAMPLE");
    let secret = format!("wJalrXUtnFEMI/K7MDENG/{}", "bPxRfiCYEXAMPLEKEY");
    for (text, wanted) in [
        (format!("the key {id}, revoked"), "the key [redacted:aws-access-key], revoked"),
        (format!("AWS_ACCESS_KEY_ID={id}"), "AWS_ACCESS_KEY_ID=[redacted:aws-access-key]"),
        (format!("aws_secret_access_key = {secret}"), "aws_secret_access_key = [redacted:secret]"),
        (
            format!("\"SecretAccessKey\": \"{secret}\""),
            "\"SecretAccessKey\": \"[redacted:secret]\"",
        ),
    ] {
        assert_eq!(redacted(&text, false).0, wanted, "{text}");
        // In code, what is not quoted is a name.
        if text.contains('"') || text.contains("AKIA") {
            assert_eq!(redacted(&text, true).0, wanted, "{text}");
        }
    }
    for text in [
        "aws_secret_access_key = YOUR_SECRET_ACCESS_KEY_EXAMPLE_123456789",
        "aws_secret_access_key = your/example/secret/access/key/goes/here",
        "AKIA stands for a long-term key; ASIAN markets are closed",
        "AKIAIOSFODNN7EXAMPL",
        "MAKIAIOSFODNN7EXAMPLE",
        "AKIAIOSFODNN7EXAMPLES",
    ] {
        assert_eq!(redacted(text, false).0, text);
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

#[test]
fn passwords_on_command_lines_are_replaced() {
    let password = "Tr0ub4dor3xQ";
    for line in [
        "mysql --password VALUE -u root app",
        "mysql -h db -u root -pVALUE app",
        "cli login --token VALUE --region eu",
        "cli --api-key 'VALUE' list",
        "snowsql -u me --private-key-passphrase VALUE",
        "docker login -u me -p VALUE registry.local",
        "sshpass -p 'VALUE' ssh me@host",
        "redis-cli -h cache -a VALUE ping",
        "ldapsearch -x -D cn=admin -w VALUE -b dc=x",
        "openssl rsa -passin pass:VALUE -in k.pem",
        "smbclient //nas/share -U bob%VALUE",
        "lftp -u deploy,VALUE sftp://files.local",
        "net use Z: \\\\nas\\share /user:bob VALUE",
        "rabbitmqctl add_user app VALUE",
        "echo \"VALUE\" | docker login -u bot --password-stdin",
        "docker login -u bot --password-stdin <<< VALUE",
        "echo 'root:VALUE' | chpasswd",
        "CREATE USER 'app'@'%' IDENTIFIED WITH native BY 'VALUE';",
        "ALTER ROLE app WITH LOGIN PASSWORD 'VALUE';",
        "requests.get(url, auth=(\"svc\", \"VALUE\"))",
        "ConvertTo-SecureString \"VALUE\" -AsPlainText -Force",
        "db.local:5432:app:app:VALUE",
        "requirepass VALUE",
        "ENV NPM_TOKEN VALUE",
        "#define WIFI_PASSWORD \"VALUE\"",
        "password is VALUE, do not share",
        "the password for staging: VALUE",
        "imap.login(\"bot@acme.test\", \"VALUE\")",
        "$db = new PDO($dsn, 'app', 'VALUE');",
        "ssh-keygen -t ed25519 -N 'VALUE' -f id",
    ] {
        for is_code in [false, true] {
            let (text, counts) = redacted(&line.replace("VALUE", password), is_code);
            assert!(!text.contains(&password[..6]), "{line}: {text}");
            assert_eq!(counts.iter().map(|it| it.1).sum::<u32>(), 1, "{line}: {text}");
            let kept = line.split("VALUE").map(|part| part.trim_matches(['"', '\'']));
            assert!(kept.into_iter().all(|it| text.contains(it)), "{line}: {text}");
        }
    }
    for line in [
        "mkdir -p build2/out && ssh -p 2222 host4you",
        "docker run -p 8080:80 app2day",
        "mysql -p app2day",
        "cli login --token $TOKEN_2 --password-file p4ss.txt",
        "docker login -u me --password-stdin < token4.txt",
        "cli --token <TOKEN1> --secret id=npm2,src=x4.txt",
        "tar -a backup7.tar && ls -w 120x4",
        "the token is v2alpha1, the password is argon2id",
        "db.local:5432:app:app:*",
    ] {
        assert_eq!(redacted(line, false), (line.to_owned(), vec![]));
    }
}

#[test]
fn values_in_the_field_after_their_name_are_replaced() {
    for text in [
        "env:\n  - name: DB_PASSWORD\n    value: VALUE\n",
        "{\"name\": \"DB_PASSWORD\", \"value\": \"VALUE\"}",
        "<Setting Name=\"DbPassword\" Value=\"VALUE\" />",
        "variable \"db_password\" {\n  type = string\n  default = \"VALUE\"\n}",
        "body: \"{\\\"password\\\": \\\"VALUE\\\"}\"",
        "DB_PASS=VALUE DB_USER=app",
        "mailer: { user: 'bot', pass: 'VALUE' }",
        "Passwort: VALUE",
        "psk=\"VALUE\"",
    ] {
        let (out, counts) = redacted(&text.replace("VALUE", "Summer2024"), false);
        assert_eq!(
            (out, counts),
            (text.replace("VALUE", "[redacted:secret]"), vec![("secret", 1)])
        );
    }
}

#[test]
fn a_private_key_in_base64_is_replaced_and_a_certificate_is_not() {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let pem = |label: &str| {
        STANDARD.encode(format!("-----BEGIN {label}-----\n{}\n", random(200, ALL, 8)))
    };
    let (key, certificate) = (pem("RSA PRIVATE KEY"), pem("CERTIFICATE"));
    let text = format!("client-certificate-data: {certificate}\nclient-key-data: {key}\n");
    let (out, counts) = redacted(&text, false);
    assert_eq!(counts, [("private-key", 1)]);
    assert!(out.ends_with(&format!("{certificate}\nclient-key-data: [redacted:private-key]\n")));
    let wrapped = format!("tls.key: >\n  {}\n  {}\nnext: 1\n", &key[..76], &key[76..]);
    let out = redacted(&wrapped, false).0;
    assert_eq!(out, "tls.key: >\n  [redacted:private-key]\n\nnext: 1\n");
}

#[test]
fn the_tail_of_a_private_key_is_replaced() {
    // As in a key: 64 characters a line, and a short last line.
    let line = |seed| random(64, ALL, seed);
    let (one, two, last) = (line(1), line(2), "aB3=");
    let footer = "-----END RSA PRIVATE KEY-----";
    let marked = "[redacted:private-key]";
    for end in ["\n", "\r\n"] {
        let lines = [&*one, &two, last, footer].join(end);
        let breaks = "\n".repeat(3);
        for (before, after) in [
            ("", ""),
            ("the end of the key is:\n", "\nis it valid?"),
            ("key: ", ""),
            ("word\n\n", ""),
        ] {
            let text = format!("{before}{lines}{after}");
            let wanted = format!("{before}{marked}{breaks}{after}");
            assert_eq!(redacted(&text, false).0, wanted, "{text}");
        }
    }
    // Indented, quoted, with written breaks, cut in its first line, and after a whole key.
    let indented = format!("a:\n  {one}\n  {two}\n  {footer}\n");
    assert_eq!(redacted(&indented, false).0, format!("a:\n  {marked}\n\n\n"));
    let quoted = format!("> {one}\n> {last}\n> {footer}\n");
    assert_eq!(redacted(&quoted, false).0, format!("> {marked}\n\n\n"));
    let written = format!("\"{one}\\n{two}\\n{footer}\\n\"");
    assert_eq!(redacted(&written, false).0, format!("\"{marked}\\n\""));
    let cut = format!("{}\n{two}\n{footer}", &one[44..]);
    assert_eq!(redacted(&cut, false).0, format!("{marked}\n\n"));
    let whole = format!("-----BEGIN RSA PRIVATE KEY-----\n{one}\n{footer}\n");
    let both = format!("{whole}{two}\n{last}\n{footer}\n");
    let out = redacted(&both, false);
    assert_eq!(out.0, format!("{marked}\n\n\n{marked}\n\n\n"));
    assert_eq!(out.1, [("private-key", 2)]);
    // Nothing of a key.
    for text in [
        footer,
        "a key ends with\n-----END RSA PRIVATE KEY-----\nin PEM",
        "yes\n-----END PRIVATE KEY-----",
        &format!("{one}\n-----END CERTIFICATE-----"),
        &format!("{one}\n-----END PUBLIC KEY-----"),
    ] {
        assert!(!redacted(text, false).0.contains("private-key"), "{text}");
    }
}

/// A quadratic rule takes minutes for the last text, and longer than the runner's limit for all.
#[test]
fn repeated_starts_of_secrets_take_time_proportional_to_the_text() {
    let others = OTHERS.iter().flat_map(|(starts, _)| *starts);
    let starts = KNOWN.iter().flat_map(|known| known.starts).chain(others).copied();
    let lines = [
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----!",
        "-----END PRIVATE KEY-----",
        "Private-Lines: 512",
    ];
    for start in starts.chain(assigned::names().map(|(part, _)| part)).chain(lines) {
        for end in ["", "\n", " ", "-", ".", "=", "=\"", ": ", "=a1&"] {
            let part = format!("{start}{end}");
            let text = part.repeat((1 << 13) / part.len());
            drop(redacted(&text, false));
        }
    }
    drop(redacted(&"-----BEGIN PRIVATE KEY-----\n".repeat(40_000), false));
}

#[test]
fn a_key_inside_another_secret_is_replaced_up_to_its_end() {
    let text = format!("ghp_{}-----BEGIN PRIVATE KEY-----\nMIIB\n", letters(36));
    assert_eq!(redacted(&text, false).0, "[redacted:random-token][redacted:private-key]\n\n");
}

#[test]
fn keys_of_every_length_and_order_are_replaced() {
    let key = "-----BEGIN PRIVATE KEY-----\nMII(B\n-----END PRIVATE KEY-----";
    let cut = "-----BEGIN PRIVATE KEY-----\nMIIB";
    let far = format!("{cut}!{}", "x ".repeat(KEY_BYTES_MAX));
    let text = format!("{key} (a) {far}{key} (b) {cut}!");
    let (text, counts) = redacted(&text, false);
    assert_eq!(counts, [("private-key", 4)]);
    assert!(!text.contains("MII"), "{text}");
}

/// Letters of both cases and digits without a pattern, different for each seed; assembled here, so
/// that no scanner takes this file for a leak.
fn random(length: usize, alphabet: &str, seed: u64) -> String {
    let letters = alphabet.as_bytes();
    let mut state = seed;
    let mut next = || {
        // Knuth's multiplier, as elsewhere in tests.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    (0..length).map(|_| char::from(letters[next() % letters.len()])).collect()
}

const ALL: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Lines as in settings, notes and command lines. `ALL40` is 40 letters and digits, `HEX`
/// hexadecimal, `UPP` base32, `B64:` base64 of the text up to the next space.
const SERVICES: &[&str] = &[
    "vault login hvs.ALL90",
    "VAULT_TOKEN=hvb.ALL120",
    "VAULT_TOKEN=s.ALL24",
    "docker login -u me --password-stdin <<< dckr_pat_ALL27",
    "{\"auths\": {\"registry.local\": {\"auth\": \"ALL40\"}}}",
    "DATABRICKS_HOST=x DATABRICKS_TOKEN=dapiHEX32",
    "token dapiHEX32 of the workspace",
    "glsa_ALL32_HEX8",
    "grafana: glc_ALL100",
    "Authorization: Bearer eyJrIjoiALL70",
    "CI_JOB_TOKEN glcbt-64_ALL20",
    "glptt-ALL40",
    "GR1348941ALL20",
    "https://api.telegram.org/bot123456789:AAALL33/getMe",
    "bot: 1234567890:AAALL33",
    "DISCORD_TOKEN=MALL23.ALL6.ALL38",
    "https://discord.com/api/webhooks/123456789012345678/ALL68",
    "MAILGUN_API_KEY=key-HEX32",
    "send with key-HEX32 today",
    "Authorization: Basic B64:admin:tr0ub4dor ",
    "curl -H 'Authorization: Basic B64:ci:s3cret-pw ' https://x",
    "//registry.local/:_auth=ALL40",
    "//registry.local/:_authToken=ALL36",
    "_auth = \"ALL40\"",
    "Server=db;Database=app;User Id=sa;Pwd=tr0ub4dor&3x;",
    "Server=db;Uid=sa;Password=tr0ub4dor3x;",
    "pwd=Tr0ub4dor3x",
    "machine git.local login me password ALL20",
    "machine git.local\n  login me\n  password ALL12",
    "https://acct.blob.core.windows.net/c?sv=2022-11-02&se=2026&sp=r&sig=ALL43%3D",
    "SharedAccessSignature sr=x&sig=ALL43%3D&se=1",
    "Endpoint=sb://x;SharedAccessKeyName=k;SharedAccessKey=ALL43=",
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=ALL86==",
    "Cookie: sessionid=ALL32",
    "Set-Cookie: connect.sid=s%3AALL32.ALL43; Path=/",
    "Cookie: PHPSESSID=ALL26; theme=dark",
    "JSESSIONID=ALL32",
    "_gitlab_session=HEX32",
    "AGE-SECRET-KEY-1UPP58",
    "otpauth://totp/me?secret=UPP32&issuer=x",
    "TOTP_SEED=UPP32",
    "totp_secret: UPP32",
    "WAYPOST_TOKEN=wp_ALL10_ALL43",
    "ctl --token wp_ALL10_ALL43",
    "aws_secret_access_key = ALL40",
    "X-Amz-Signature=HEX64",
    "curl -u admin:ALL12 https://x",
    "curl --user ci:ALL16 https://x",
    "x-api-key: ALL32",
    "api key = ALL32",
    "HEROKU_API_KEY=HEX8-HEX4-4HEX3-aHEX3-HEX12",
    "TWILIO_AUTH_TOKEN=HEX32",
    "SKHEX32",
    "lin_api_ALL40",
    "ntn_ALL46",
    "pul-HEX40",
    "rubygems_HEX48",
    "sgp_HEX16_HEX40",
    "NRAK-ALL27",
    "PMAK-HEX24-HEX34",
    "sntrys_eyJALL80",
    "shpss_HEX32",
    "dop_v1_HEX64",
    "tfe ALL14.atlasv1.ALL67",
    "npm_ALL36",
    "signing_key = \"ALL64\"",
    "master_key: HEX32",
    "encryptionKey: 'ALL43='",
    "value from the portal: abc8Q~ALL34",
    "doppler dp.st.prd.ALL43",
    "https://acme.webhook.office.com/webhookb2/3f2504e0-4f89-11d3-9a0c-0305e82c3301@3f2504e0-4f89-11d3-9a0c-0305e82c3302/IncomingWebhook/HEX32/3f2504e0-4f89-11d3-9a0c-0305e82c3303",
    "bedrock ABSKALL120",
    "FCM server AAAAALL7:APA91bALL134",
    "https://HEX32@o123.ingest.sentry.io/45",
    "hcloud context token ALL64",
    "| admin | ALL32 |",
    "twilio: auth token HEX32",
    "Unseal Key 1: ALL43=",
    "az storage blob list --account-key ALL86==",
    "passwd: $6$rounds=4096$ALL16$ALL86",
    "sbp_HEX40",
    "shippo_live_HEX40",
];

#[test]
fn secrets_of_services_are_replaced_in_the_lines_they_stand_in() {
    let mut missed = Vec::new();
    for (number, line) in SERVICES.iter().enumerate() {
        let (line, secrets) = filled(line, number as u64);
        let text = redacted(&line, false).0;
        missed.extend(secrets.iter().any(|secret| text.contains(secret)).then_some((line, text)));
    }
    assert!(missed.is_empty(), "{} of {}: {missed:#?}", missed.len(), SERVICES.len());
}

/// A line with its secrets inserted, and those secrets of 6 characters and more.
fn filled(line: &str, seed: u64) -> (String, Vec<String>) {
    let (mut text, mut secrets, mut rest) = (String::new(), Vec::new(), line);
    let marks = [("ALL", ALL), ("HEX", HEX), ("UPP", UPPER)];
    while !rest.is_empty() {
        if let Some(plain) = rest.strip_prefix("B64:") {
            use base64::Engine as _;
            let (plain, after) = plain.split_once(' ').expect("a space ends it");
            let secret = base64::engine::general_purpose::STANDARD.encode(plain);
            text.push_str(&secret);
            secrets.push(secret);
            rest = after;
            continue;
        }
        let mark = marks.iter().find_map(|(mark, alphabet)| {
            let after = rest.strip_prefix(mark)?;
            let digits = run(after, |it| it.is_ascii_digit());
            Some((after[..digits].parse::<usize>().ok()?, *alphabet, &after[digits..]))
        });
        if let Some((length, alphabet, after)) = mark {
            let secret = random(length, alphabet, seed * 31 + text.len() as u64);
            text.push_str(&secret);
            secrets.extend((length >= 6).then_some(secret));
            rest = after;
        } else {
            let first = rest.chars().next().expect("it is not empty");
            text.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    (text, secrets)
}

#[test]
fn the_private_lines_of_a_key_of_putty_are_replaced() {
    let lines = [random(64, ALL, 1), random(64, ALL, 2)].join("\n");
    let text = format!(
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 2\n{lines}\nPrivate-MAC: x\n"
    );
    let (out, counts) = redacted(&text, false);
    assert_eq!(counts, [("private-key", 1)]);
    assert!(out.ends_with("Private-Lines: 2\n[redacted:private-key]\n\nPrivate-MAC: x\n"), "{out}");
}

#[test]
fn names_hashes_and_data_are_not_taken_for_tokens() {
    let hash = random(40, HEX, 3);
    let longer = random(64, HEX, 4);
    for text in [
        format!("commit {hash}"),
        format!("checksum = \"{longer}\""),
        format!("image: app@sha256:{longer}"),
        format!("\"integrity\": \"sha512-{}==\"", random(86, ALL, 5)),
        format!("golang.org/x/mod v0.1.0 h1:{}=", random(43, ALL, 6)),
        format!("index-{}.js", random(8, ALL, 7)),
        "import java.security.spec.X509EncodedKeySpec;".to_owned(),
        "void whenNeo4jAuthIsNoneThenAuthTokenIsNone() {".to_owned(),
        "let id = \"3f2504e0-4f89-11d3-9a0c-0305e82c3301\";".to_owned(),
        "keyboard: querty_layout_2019_de".to_owned(),
        "monkey = \"banana2banana2banana2\"".to_owned(),
        format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} me@host", random(43, ALL, 9)),
        format!("ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB{} me@host", random(90, ALL, 10)),
        format!(" - <csr-id-{hash}/> Add a feature"),
        format!("https://avatars.local/u/79222417?u={hash}&v=4"),
        format!("assets/foo.{longer}.js"),
        format!("const CRASH: &str = \"crash-{longer}\";"),
        format!("<assembly publicKeyToken=\"{}\" />", random(16, HEX, 11)),
        format!("// {}\n// {}\n", random(64, ALL, 12), random(64, ALL, 13)),
        "tokenizer: BertWordPieceTokenizer2".to_owned(),
        "_mm512_castpd512_pd256(self.avx512f._mm512_cvtepi64_epi8(a))".to_owned(),
        "storage.AppenderV2AsLimitedV1(app).AppendScrapeV2AsLimited1()".to_owned(),
        "pub const GUID_WICPixelFormat32bppPRGBA: GUID = PtpV2OverUdpIPv6AllMsgTransmitHw;"
            .to_owned(),
        "xn--snl253bgitxhzwu2arn60c; ; ; # a name".to_owned(),
        "[`registry.token`]: config.md#registrytoken".to_owned(),
        "postgres://user:password@localhost/db".to_owned(),
    ] {
        assert_eq!(redacted(&text, true), (text.clone(), vec![]));
    }
}
