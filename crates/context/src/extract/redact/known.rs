//! Tokens that say by their first letters what they are.

use std::ops::RangeInclusive;

use super::is_url_base64;

/// A token of known shape.
pub(super) struct Known {
    /// What it begins with, exactly.
    pub(super) start: &'static str,
    pub(super) what: &'static str,
    /// How many letters follow.
    pub(super) length: RangeInclusive<usize>,
    pub(super) letters: fn(u8) -> bool,
    /// Its beginning is an ordinary word, so that what follows must look random.
    pub(super) mixed: bool,
}

const MANY: usize = 4096;

const fn known(
    start: &'static str,
    what: &'static str,
    length: RangeInclusive<usize>,
    letters: fn(u8) -> bool,
) -> Known {
    Known { start, what, length, letters, mixed: false }
}

fn upper(it: u8) -> bool {
    it.is_ascii_uppercase() || it.is_ascii_digit()
}

fn alphanumeric(it: u8) -> bool {
    it.is_ascii_alphanumeric()
}

fn word(it: u8) -> bool {
    it.is_ascii_alphanumeric() || it == b'_'
}

fn dashed(it: u8) -> bool {
    it.is_ascii_alphanumeric() || it == b'-'
}

fn dotted(it: u8) -> bool {
    is_url_base64(it) || it == b'.'
}

fn path(it: u8) -> bool {
    it.is_ascii_alphanumeric() || it == b'/'
}

fn base64(it: u8) -> bool {
    it.is_ascii_alphanumeric() || b"+/=".contains(&it)
}

/// The longer of two that begin alike stands first.
pub(super) static KNOWN: [Known; 36] = [
    known("AKIA", "aws-access-key", 16..=16, upper),
    known("ASIA", "aws-access-key", 16..=16, upper),
    known("github_pat_", "github-token", 22..=255, word),
    known("ghp_", "github-token", 36..=255, alphanumeric),
    known("gho_", "github-token", 36..=255, alphanumeric),
    known("ghu_", "github-token", 36..=255, alphanumeric),
    known("ghs_", "github-token", 36..=255, alphanumeric),
    known("ghr_", "github-token", 36..=255, alphanumeric),
    known("glpat-", "gitlab-token", 20..=64, dotted),
    known("gldt-", "gitlab-token", 20..=64, dotted),
    known("glrt-", "gitlab-token", 20..=64, dotted),
    known("xoxb-", "slack-token", 10..=255, dashed),
    known("xoxp-", "slack-token", 10..=255, dashed),
    known("xoxa-", "slack-token", 10..=255, dashed),
    known("xoxr-", "slack-token", 10..=255, dashed),
    known("xoxs-", "slack-token", 10..=255, dashed),
    known("xapp-", "slack-token", 10..=255, dashed),
    known("https://hooks.slack.com/services/", "slack-webhook", 20..=128, path),
    known("sk_live_", "stripe-key", 16..=255, alphanumeric),
    known("sk_test_", "stripe-key", 16..=255, alphanumeric),
    known("rk_live_", "stripe-key", 16..=255, alphanumeric),
    known("rk_test_", "stripe-key", 16..=255, alphanumeric),
    known("whsec_", "stripe-key", 24..=255, base64),
    known("AIza", "google-key", 35..=35, is_url_base64),
    known("GOCSPX-", "google-key", 24..=64, is_url_base64),
    known("ya29.", "google-token", 20..=MANY, dotted),
    known("sk-ant-", "anthropic-key", 20..=255, is_url_base64),
    known("sk-proj-", "openai-key", 20..=255, is_url_base64),
    Known { mixed: true, ..known("sk-", "openai-key", 20..=255, is_url_base64) },
    known("npm_", "npm-token", 36..=36, alphanumeric),
    known("pypi-AgE", "pypi-token", 20..=MANY, is_url_base64),
    known("SG.", "sendgrid-key", 60..=80, dotted),
    known("hf_", "huggingface-token", 30..=64, alphanumeric),
    known("dop_v1_", "digitalocean-token", 64..=64, alphanumeric),
    known("shpat_", "shopify-token", 32..=32, alphanumeric),
    known("AccountKey=", "azure-key", 40..=128, base64),
];
