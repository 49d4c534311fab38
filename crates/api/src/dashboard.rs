//! Opening the dashboard: a one-time code, the token that its page gets for it, and the proof that the listener issued
//! them.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;
use waypost_time::Timestamp;

use crate::limits::{Check, Faults};
use crate::{Scope, wire};

/// Bytes of a nonce.
const NONCE_BYTES_MAX: usize = 128;

/// Body of `POST /api/dashboard/codes`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DashboardCodeRequest {
    /// The scopes of the dashboard's token, at least one; default: those of the request's token.
    #[serde(default, deserialize_with = "wire::some", skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<Scope>,
    /// The only space that the dashboard can access; default: all. Needs scopes without `admin`.
    pub space: Option<String>,
}

impl Check for DashboardCodeRequest {
    fn check(&self, faults: &mut Faults) {
        faults.space(self.space.as_deref());
        let is_admin = self.scopes.is_empty() || self.scopes.contains(&Scope::Admin);
        if self.space.is_some() && is_admin {
            let why = "an admin token applies to all spaces; give `scopes` without `admin`";
            faults.add("space", why);
        } else if self.space.is_some() && self.scopes.contains(&Scope::BrowserUse) {
            faults.add("space", "`browser:use` applies to no space; omit the scope or the space");
        }
    }
}

/// Response of `POST /api/dashboard/codes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DashboardCode {
    /// The code, which can be exchanged once.
    pub code: String,
    /// When it expires.
    pub expires_at: Timestamp,
    /// The address of the dashboard, without the code.
    pub url: String,
}

/// Body of `POST /api/dashboard/token`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DashboardTokenRequest {
    /// The code.
    pub code: String,
}

impl Check for DashboardTokenRequest {
    // Whether it is a code is for the service to say, in one way for all that are not.
    fn check(&self, _faults: &mut Faults) {}
}

/// Body of `POST /api/dashboard/proof`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DashboardProofRequest {
    /// The public part of the code or of the token that the page is about to send.
    pub id: String,
    /// Random text that the page has not used before, up to 128 bytes.
    pub nonce: String,
}

impl Check for DashboardProofRequest {
    fn check(&self, faults: &mut Faults) {
        if self.nonce.len() > NONCE_BYTES_MAX {
            faults.add("nonce", format!("use up to {NONCE_BYTES_MAX} bytes"));
        }
    }
}

/// Response of `POST /api/dashboard/proof`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DashboardProof {
    /// The HMAC-SHA256 of the nonce in hexadecimal digits; its key is the whole code or token.
    pub proof: String,
}
