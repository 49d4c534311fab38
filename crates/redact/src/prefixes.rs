//! Tokens with a distinctive prefix.

use std::ops::RangeInclusive;

/// Tokens of one shape.
pub(super) struct Known {
    /// The exact prefixes.
    pub(super) starts: &'static [&'static str],
    pub(super) what: &'static str,
    /// How many characters follow.
    pub(super) length: RangeInclusive<usize>,
    /// Which, as in the brackets of a regular expression.
    letters: &'static str,
    /// The prefix is an ordinary word, so what follows must look random.
    pub(super) mixed: bool,
}

impl Known {
    /// Whether a byte may follow the prefix.
    pub(super) fn has(&self, byte: u8) -> bool {
        let mut rest = self.letters.as_bytes();
        loop {
            let (letters, others) = match rest {
                [first, b'-', last, others @ ..] => (*first..=*last, others),
                [letter, others @ ..] => (*letter..=*letter, others),
                [] => return false,
            };
            if letters.contains(&byte) {
                return true;
            }
            rest = others;
        }
    }
}

const MANY: usize = 4096;

const fn known(
    starts: &'static [&'static str],
    what: &'static str,
    length: RangeInclusive<usize>,
    letters: &'static str,
) -> Known {
    Known { starts, what, length, letters, mixed: false }
}

/// Tokens whose prefix is an ordinary word.
const fn mixed(
    starts: &'static [&'static str],
    what: &'static str,
    length: RangeInclusive<usize>,
    letters: &'static str,
) -> Known {
    Known { starts, what, length, letters, mixed: true }
}

/// The documented prefixes of services' tokens.
pub(super) static KNOWN: [Known; 102] = [
    known(&["AKIA", "ASIA", "ABIA", "ACCA"], "aws-access-key", 16..=16, "A-Z0-9"),
    known(&["github_pat_"], "github-token", 22..=255, "A-Za-z0-9_"),
    known(&["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], "github-token", 36..=255, "A-Za-z0-9"),
    known(
        &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "glffct-"],
        "gitlab-token",
        20..=64,
        "A-Za-z0-9_.-",
    ),
    known(&["glagent-", "gloas-"], "gitlab-token", 20..=80, "A-Za-z0-9_.-"),
    known(&["GR1348941"], "gitlab-token", 20..=64, "A-Za-z0-9_-"),
    known(
        &["xoxb-", "xoxp-", "xoxa-", "xoxe-", "xoxo-", "xoxr-", "xoxs-", "xapp-", "xoxc-"],
        "slack-token",
        10..=255,
        "A-Za-z0-9-",
    ),
    known(&["xoxe.xox"], "slack-token", 10..=255, "A-Za-z0-9_.-"),
    known(&["https://hooks.slack.com/"], "slack-webhook", 20..=128, "A-Za-z0-9/"),
    known(
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"],
        "stripe-key",
        16..=255,
        "A-Za-z0-9",
    ),
    known(&["whsec_"], "stripe-key", 24..=255, "A-Za-z0-9+/="),
    known(&["AIza"], "google-key", 35..=35, "A-Za-z0-9_-"),
    known(&["GOCSPX-"], "google-key", 24..=64, "A-Za-z0-9_-"),
    known(&["ya29."], "google-token", 20..=MANY, "A-Za-z0-9_.-"),
    known(&["1//0"], "google-token", 30..=255, "A-Za-z0-9_-"),
    known(&["sk-ant-"], "anthropic-key", 20..=255, "A-Za-z0-9_-"),
    known(&["sk-proj-"], "openai-key", 20..=255, "A-Za-z0-9_-"),
    mixed(&["sk-"], "openai-key", 20..=255, "A-Za-z0-9_-"),
    known(&["npm_"], "npm-token", 36..=36, "A-Za-z0-9"),
    known(&["pypi-AgE"], "pypi-token", 20..=MANY, "A-Za-z0-9_-"),
    known(&["SG."], "sendgrid-key", 60..=80, "A-Za-z0-9_.-"),
    known(&["hf_"], "huggingface-token", 30..=64, "A-Za-z0-9"),
    mixed(&["api_org_"], "huggingface-token", 30..=64, "A-Za-z0-9"),
    known(&["dop_v1_", "doo_v1_", "dor_v1_"], "digitalocean-token", 64..=64, "A-Za-z0-9"),
    known(&["shpat_", "shpca_", "shppa_", "shpss_"], "shopify-token", 32..=32, "A-Za-z0-9"),
    known(&["AccountKey=", "SharedAccessKey="], "azure-key", 40..=128, "A-Za-z0-9+/="),
    known(&["hvs.", "hvr."], "vault-token", 20..=300, "A-Za-z0-9_-"),
    known(&["hvb."], "vault-token", 20..=400, "A-Za-z0-9_-"),
    mixed(&["s."], "vault-token", 24..=24, "A-Za-z0-9"),
    known(&["dckr_pat_", "dckr_oat_"], "docker-token", 20..=64, "A-Za-z0-9_-"),
    mixed(&["dapi"], "databricks-token", 32..=34, "A-Za-z0-9-"),
    known(&["glc_"], "grafana-token", 32..=400, "A-Za-z0-9+/="),
    known(&["glsa_"], "grafana-token", 32..=64, "A-Za-z0-9_"),
    mixed(&["key-", "pubkey-"], "mailgun-key", 32..=32, "0-9A-Fa-f"),
    known(&["SK"], "twilio-key", 32..=32, "0-9A-Fa-f"),
    known(&["AC"], "twilio-account", 32..=32, "0-9A-Fa-f"),
    known(&["AGE-SECRET-KEY-"], "age-key", 58..=60, "A-Z0-9"),
    known(&["AGE-PLUGIN-"], "age-key", 58..=400, "A-Z0-9-"),
    known(&["wp_"], "waypost-token", 30..=128, "A-Za-z0-9_-"),
    known(&["ops_eyJ"], "1password-token", 60..=MANY, "A-Za-z0-9+/="),
    known(&["A3-"], "1password-key", 26..=60, "A-Z0-9-"),
    known(&["PMAK-"], "postman-key", 40..=80, "A-Za-z0-9-"),
    known(&["NRAK-"], "newrelic-key", 27..=27, "A-Za-z0-9"),
    known(&["lin_api_"], "linear-key", 32..=64, "A-Za-z0-9"),
    known(&["ntn_"], "notion-token", 40..=64, "A-Za-z0-9"),
    mixed(&["secret_"], "notion-token", 43..=43, "A-Za-z0-9"),
    known(&["pul-"], "pulumi-token", 40..=40, "0-9A-Fa-f"),
    known(&["EZAK", "EZTK"], "easypost-key", 54..=54, "A-Za-z0-9"),
    known(&["EAA"], "facebook-token", 60..=255, "A-Za-z0-9"),
    known(&["LTAI"], "alibaba-key", 16..=24, "A-Za-z0-9"),
    known(&["fo1_"], "flyio-token", 40..=64, "A-Za-z0-9_-"),
    known(&["FlyV1"], "flyio-token", 60..=MANY, "A-Za-z0-9 ,_+/=-"),
    mixed(&["ZXlK"], "jwt", 48..=MANY, "A-Za-z0-9_=-"),
    known(&["sha256~"], "openshift-token", 43..=43, "A-Za-z0-9_-"),
    known(&["sl.B"], "dropbox-token", 100..=MANY, "A-Za-z0-9_-"),
    known(&["sntrys_"], "sentry-token", 60..=400, "A-Za-z0-9+/="),
    known(&["sntryu_"], "sentry-token", 64..=64, "0-9A-Fa-f"),
    known(&["dt0c01."], "dynatrace-token", 80..=100, "A-Za-z0-9_.-"),
    known(&["AKCp"], "artifactory-key", 60..=80, "A-Za-z0-9"),
    known(&["cmVmd"], "artifactory-key", 55..=64, "A-Za-z0-9"),
    known(&["ATATT3", "ATCTT3"], "atlassian-token", 100..=255, "A-Za-z0-9_=-"),
    known(&["rubygems_"], "rubygems-key", 48..=48, "0-9A-Fa-f"),
    known(&["YC"], "yandex-key", 38..=38, "A-Za-z0-9_-"),
    known(&["t1."], "yandex-token", 60..=400, "A-Za-z0-9_.=-"),
    known(&["ABSK"], "aws-bedrock-key", 100..=300, "A-Za-z0-9+/="),
    known(&["bedrock-api-key-"], "aws-bedrock-key", 40..=MANY, "A-Za-z0-9+/="),
    known(&["amzn.mws."], "aws-mws-key", 36..=36, "0-9A-Fa-f-"),
    known(
        &["dp.pt.", "dp.ct.", "dp.sa.", "dp.said.", "dp.scim.", "dp.audit."],
        "doppler-token",
        40..=64,
        "A-Za-z0-9_.-",
    ),
    known(&["dp.st."], "doppler-token", 40..=80, "A-Za-z0-9_.-"),
    known(&["sbp_"], "supabase-token", 40..=40, "0-9A-Fa-f"),
    known(&["bkua_"], "buildkite-token", 40..=40, "0-9A-Fa-f"),
    known(&["squ_", "sqp_", "sqa_"], "sonar-token", 40..=40, "0-9A-Fa-f"),
    known(&["p8e-"], "adobe-key", 32..=32, "A-Za-z0-9"),
    known(&["shippo_live_", "shippo_test_"], "shippo-token", 40..=40, "0-9A-Fa-f"),
    known(&["shptka_"], "shopify-token", 32..=32, "0-9A-Fa-f"),
    known(&["sgp_"], "sourcegraph-token", 40..=64, "A-Za-z0-9_"),
    known(&["phx_"], "posthog-key", 32..=64, "A-Za-z0-9"),
    known(&["sq0atp-", "sq0csp-"], "square-token", 22..=60, "A-Za-z0-9_-"),
    known(&["EAAA"], "square-token", 56..=64, "A-Za-z0-9_-"),
    known(&["HRKU-AA"], "heroku-key", 58..=58, "A-Za-z0-9_-"),
    known(
        &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"],
        "planetscale-token",
        32..=64,
        "A-Za-z0-9_.-",
    ),
    known(&["xkeysib-", "xsmtpsib-"], "brevo-key", 64..=96, "A-Za-z0-9-"),
    known(&["fm1r_", "fm1a_", "fm2_"], "flyio-token", 100..=MANY, "A-Za-z0-9+/="),
    known(&["fio-u-"], "frameio-token", 64..=64, "A-Za-z0-9_=-"),
    known(&["nvapi-"], "nvidia-key", 60..=80, "A-Za-z0-9_-"),
    known(&["tvly-"], "tavily-key", 28..=64, "A-Za-z0-9_-"),
    known(&["lsv2_pt_", "lsv2_sk_"], "langsmith-key", 36..=64, "A-Za-z0-9_"),
    known(&["apify_api_"], "apify-token", 32..=48, "A-Za-z0-9"),
    known(&["mlsn."], "mailersend-token", 60..=80, "0-9A-Fa-f"),
    known(&["oy2"], "nuget-key", 43..=43, "a-z0-9"),
    known(&["AQVN"], "yandex-key", 35..=38, "A-Za-z0-9_-"),
    known(&["APP_USR-"], "mercadopago-token", 60..=90, "A-Za-z0-9-"),
    known(&["secret-token:"], "secret-token", 16..=255, "A-Za-z0-9_.=-"),
    known(&["rzp_live_"], "razorpay-key", 14..=20, "A-Za-z0-9"),
    known(&["v1.0-"], "cloudflare-key", 150..=180, "0-9A-Fa-f-"),
    known(&["access-production-", "access-sandbox-"], "plaid-token", 36..=36, "0-9A-Fa-f-"),
    known(&["sdk-"], "launchdarkly-key", 36..=36, "0-9A-Fa-f-"),
    known(&["sm_aat_", "sm_pat_"], "sumologic-token", 16..=16, "A-Za-z0-9"),
    known(&["tskey-"], "tailscale-key", 24..=96, "A-Za-z0-9-"),
    known(&["r8_"], "replicate-token", 37..=37, "A-Za-z0-9_-"),
    mixed(&["API-"], "octopus-key", 26..=32, "A-Z0-9"),
    known(&["xoxd-"], "slack-token", 10..=255, "A-Za-z0-9_%-"),
];
