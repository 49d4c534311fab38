//! Tokens with a distinctive prefix.

use std::ops::RangeInclusive;

use crate::is_url_base64;

/// A token of known shape.
pub(super) struct Known {
    /// The exact prefix.
    pub(super) start: &'static str,
    pub(super) what: &'static str,
    /// How many characters follow.
    pub(super) length: RangeInclusive<usize>,
    pub(super) letters: fn(u8) -> bool,
    /// The prefix is an ordinary word, so what follows must look random.
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

/// A token whose prefix is an ordinary word.
const fn mixed(
    start: &'static str,
    what: &'static str,
    length: RangeInclusive<usize>,
    letters: fn(u8) -> bool,
) -> Known {
    Known { start, what, length, letters, mixed: true }
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

fn hex(it: u8) -> bool {
    it.is_ascii_hexdigit()
}

fn hex_dashed(it: u8) -> bool {
    it.is_ascii_hexdigit() || it == b'-'
}

fn lower(it: u8) -> bool {
    it.is_ascii_lowercase() || it.is_ascii_digit()
}

fn slack_cookie(it: u8) -> bool {
    is_url_base64(it) || it == b'%'
}

fn upper_dashed(it: u8) -> bool {
    upper(it) || it == b'-'
}

fn spaced(it: u8) -> bool {
    it.is_ascii_alphanumeric() || b" ,_+/=-".contains(&it)
}

fn base64_url(it: u8) -> bool {
    is_url_base64(it) || it == b'='
}

fn dotted_base64(it: u8) -> bool {
    dotted(it) || it == b'='
}

fn base64(it: u8) -> bool {
    it.is_ascii_alphanumeric() || b"+/=".contains(&it)
}

/// The documented prefixes of services' tokens.
pub(super) static KNOWN: [Known; 159] = [
    known("AKIA", "aws-access-key", 16..=16, upper),
    known("ASIA", "aws-access-key", 16..=16, upper),
    known("ABIA", "aws-access-key", 16..=16, upper),
    known("ACCA", "aws-access-key", 16..=16, upper),
    known("github_pat_", "github-token", 22..=255, word),
    known("ghp_", "github-token", 36..=255, alphanumeric),
    known("gho_", "github-token", 36..=255, alphanumeric),
    known("ghu_", "github-token", 36..=255, alphanumeric),
    known("ghs_", "github-token", 36..=255, alphanumeric),
    known("ghr_", "github-token", 36..=255, alphanumeric),
    known("glpat-", "gitlab-token", 20..=64, dotted),
    known("gldt-", "gitlab-token", 20..=64, dotted),
    known("glrt-", "gitlab-token", 20..=64, dotted),
    known("glcbt-", "gitlab-token", 20..=64, dotted),
    known("glptt-", "gitlab-token", 20..=64, dotted),
    known("glft-", "gitlab-token", 20..=64, dotted),
    known("glsoat-", "gitlab-token", 20..=64, dotted),
    known("glimt-", "gitlab-token", 20..=64, dotted),
    known("glagent-", "gitlab-token", 20..=80, dotted),
    known("gloas-", "gitlab-token", 20..=80, dotted),
    known("glffct-", "gitlab-token", 20..=64, dotted),
    known("GR1348941", "gitlab-token", 20..=64, is_url_base64),
    known("xoxb-", "slack-token", 10..=255, dashed),
    known("xoxp-", "slack-token", 10..=255, dashed),
    known("xoxa-", "slack-token", 10..=255, dashed),
    known("xoxe-", "slack-token", 10..=255, dashed),
    known("xoxe.xox", "slack-token", 10..=255, dotted),
    known("xoxo-", "slack-token", 10..=255, dashed),
    known("xoxr-", "slack-token", 10..=255, dashed),
    known("xoxs-", "slack-token", 10..=255, dashed),
    known("xapp-", "slack-token", 10..=255, dashed),
    known("https://hooks.slack.com/", "slack-webhook", 20..=128, path),
    known("sk_live_", "stripe-key", 16..=255, alphanumeric),
    known("sk_test_", "stripe-key", 16..=255, alphanumeric),
    known("rk_live_", "stripe-key", 16..=255, alphanumeric),
    known("rk_test_", "stripe-key", 16..=255, alphanumeric),
    known("whsec_", "stripe-key", 24..=255, base64),
    known("AIza", "google-key", 35..=35, is_url_base64),
    known("GOCSPX-", "google-key", 24..=64, is_url_base64),
    known("ya29.", "google-token", 20..=MANY, dotted),
    known("1//0", "google-token", 30..=255, is_url_base64),
    known("sk-ant-", "anthropic-key", 20..=255, is_url_base64),
    known("sk-proj-", "openai-key", 20..=255, is_url_base64),
    mixed("sk-", "openai-key", 20..=255, is_url_base64),
    known("npm_", "npm-token", 36..=36, alphanumeric),
    known("pypi-AgE", "pypi-token", 20..=MANY, is_url_base64),
    known("SG.", "sendgrid-key", 60..=80, dotted),
    known("hf_", "huggingface-token", 30..=64, alphanumeric),
    mixed("api_org_", "huggingface-token", 30..=64, alphanumeric),
    known("dop_v1_", "digitalocean-token", 64..=64, alphanumeric),
    known("doo_v1_", "digitalocean-token", 64..=64, alphanumeric),
    known("dor_v1_", "digitalocean-token", 64..=64, alphanumeric),
    known("shpat_", "shopify-token", 32..=32, alphanumeric),
    known("shpca_", "shopify-token", 32..=32, alphanumeric),
    known("shppa_", "shopify-token", 32..=32, alphanumeric),
    known("shpss_", "shopify-token", 32..=32, alphanumeric),
    known("AccountKey=", "azure-key", 40..=128, base64),
    known("SharedAccessKey=", "azure-key", 40..=128, base64),
    known("hvs.", "vault-token", 20..=300, is_url_base64),
    known("hvb.", "vault-token", 20..=400, is_url_base64),
    known("hvr.", "vault-token", 20..=300, is_url_base64),
    mixed("s.", "vault-token", 24..=24, alphanumeric),
    known("dckr_pat_", "docker-token", 20..=64, is_url_base64),
    known("dckr_oat_", "docker-token", 20..=64, is_url_base64),
    mixed("dapi", "databricks-token", 32..=34, dashed),
    known("glc_", "grafana-token", 32..=400, base64),
    known("glsa_", "grafana-token", 32..=64, word),
    mixed("key-", "mailgun-key", 32..=32, hex),
    mixed("pubkey-", "mailgun-key", 32..=32, hex),
    known("SK", "twilio-key", 32..=32, hex),
    known("AC", "twilio-account", 32..=32, hex),
    known("AGE-SECRET-KEY-", "age-key", 58..=60, upper),
    known("AGE-PLUGIN-", "age-key", 58..=400, upper_dashed),
    known("wp_", "waypost-token", 30..=128, is_url_base64),
    known("ops_eyJ", "1password-token", 60..=MANY, base64),
    known("A3-", "1password-key", 26..=60, upper_dashed),
    known("PMAK-", "postman-key", 40..=80, dashed),
    known("NRAK-", "newrelic-key", 27..=27, alphanumeric),
    known("lin_api_", "linear-key", 32..=64, alphanumeric),
    known("ntn_", "notion-token", 40..=64, alphanumeric),
    mixed("secret_", "notion-token", 43..=43, alphanumeric),
    known("pul-", "pulumi-token", 40..=40, hex),
    known("EZAK", "easypost-key", 54..=54, alphanumeric),
    known("EZTK", "easypost-key", 54..=54, alphanumeric),
    known("EAA", "facebook-token", 60..=255, alphanumeric),
    known("LTAI", "alibaba-key", 16..=24, alphanumeric),
    known("fo1_", "flyio-token", 40..=64, is_url_base64),
    known("FlyV1", "flyio-token", 60..=MANY, spaced),
    mixed("ZXlK", "jwt", 48..=MANY, base64_url),
    known("sha256~", "openshift-token", 43..=43, is_url_base64),
    known("sl.B", "dropbox-token", 100..=MANY, is_url_base64),
    known("sntrys_", "sentry-token", 60..=400, base64),
    known("sntryu_", "sentry-token", 64..=64, hex),
    known("dt0c01.", "dynatrace-token", 80..=100, dotted),
    known("AKCp", "artifactory-key", 60..=80, alphanumeric),
    known("cmVmd", "artifactory-key", 55..=64, alphanumeric),
    known("ATATT3", "atlassian-token", 100..=255, base64_url),
    known("rubygems_", "rubygems-key", 48..=48, hex),
    known("YC", "yandex-key", 38..=38, is_url_base64),
    known("t1.", "yandex-token", 60..=400, dotted_base64),
    known("ABSK", "aws-bedrock-key", 100..=300, base64),
    known("bedrock-api-key-", "aws-bedrock-key", 40..=MANY, base64),
    known("amzn.mws.", "aws-mws-key", 36..=36, hex_dashed),
    known("dp.pt.", "doppler-token", 40..=64, dotted),
    known("dp.st.", "doppler-token", 40..=80, dotted),
    known("dp.ct.", "doppler-token", 40..=64, dotted),
    known("dp.sa.", "doppler-token", 40..=64, dotted),
    known("dp.said.", "doppler-token", 40..=64, dotted),
    known("dp.scim.", "doppler-token", 40..=64, dotted),
    known("dp.audit.", "doppler-token", 40..=64, dotted),
    known("sbp_", "supabase-token", 40..=40, hex),
    known("bkua_", "buildkite-token", 40..=40, hex),
    known("squ_", "sonar-token", 40..=40, hex),
    known("sqp_", "sonar-token", 40..=40, hex),
    known("sqa_", "sonar-token", 40..=40, hex),
    known("p8e-", "adobe-key", 32..=32, alphanumeric),
    known("shippo_live_", "shippo-token", 40..=40, hex),
    known("shippo_test_", "shippo-token", 40..=40, hex),
    known("shptka_", "shopify-token", 32..=32, hex),
    known("sgp_", "sourcegraph-token", 40..=64, word),
    known("phx_", "posthog-key", 32..=64, alphanumeric),
    known("sk_prod_", "stripe-key", 16..=255, alphanumeric),
    known("rk_prod_", "stripe-key", 16..=255, alphanumeric),
    known("sq0atp-", "square-token", 22..=60, is_url_base64),
    known("sq0csp-", "square-token", 22..=60, is_url_base64),
    known("EAAA", "square-token", 56..=64, is_url_base64),
    known("HRKU-AA", "heroku-key", 58..=58, is_url_base64),
    known("pscale_tkn_", "planetscale-token", 32..=64, dotted),
    known("pscale_pw_", "planetscale-token", 32..=64, dotted),
    known("pscale_oauth_", "planetscale-token", 32..=64, dotted),
    known("xkeysib-", "brevo-key", 64..=96, dashed),
    known("xsmtpsib-", "brevo-key", 64..=96, dashed),
    known("fm1r_", "flyio-token", 100..=MANY, base64),
    known("fm1a_", "flyio-token", 100..=MANY, base64),
    known("fm2_", "flyio-token", 100..=MANY, base64),
    known("fio-u-", "frameio-token", 64..=64, base64_url),
    known("nvapi-", "nvidia-key", 60..=80, is_url_base64),
    known("tvly-", "tavily-key", 28..=64, is_url_base64),
    known("lsv2_pt_", "langsmith-key", 36..=64, word),
    known("lsv2_sk_", "langsmith-key", 36..=64, word),
    known("apify_api_", "apify-token", 32..=48, alphanumeric),
    known("mlsn.", "mailersend-token", 60..=80, hex),
    known("oy2", "nuget-key", 43..=43, lower),
    known("AQVN", "yandex-key", 35..=38, is_url_base64),
    known("ATCTT3", "atlassian-token", 100..=255, base64_url),
    known("APP_USR-", "mercadopago-token", 60..=90, dashed),
    known("secret-token:", "secret-token", 16..=255, dotted_base64),
    known("rzp_live_", "razorpay-key", 14..=20, alphanumeric),
    known("v1.0-", "cloudflare-key", 150..=180, hex_dashed),
    known("access-production-", "plaid-token", 36..=36, hex_dashed),
    known("access-sandbox-", "plaid-token", 36..=36, hex_dashed),
    known("sdk-", "launchdarkly-key", 36..=36, hex_dashed),
    known("sm_aat_", "sumologic-token", 16..=16, alphanumeric),
    known("sm_pat_", "sumologic-token", 16..=16, alphanumeric),
    known("tskey-", "tailscale-key", 24..=96, dashed),
    known("r8_", "replicate-token", 37..=37, is_url_base64),
    mixed("API-", "octopus-key", 26..=32, upper),
    known("xoxc-", "slack-token", 10..=255, dashed),
    known("xoxd-", "slack-token", 10..=255, slack_cookie),
];
