//! Notices: a provider's reports about the account that numbers belong to (templates, quality, limits, restrictions).

use crate::ids::hash_parts;
use crate::millis;
use crate::provider::Provider;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Number of an account's notices that are shown: the newest.
pub const NOTICES_MAX: usize = 50;

/// Time for which a notice is kept: 90 days.
pub const NOTICE_RETENTION: SignedDuration = SignedDuration::from_hours(90 * 24);

/// The subject of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum NoticeKind {
    /// A template was approved, rejected or paused, or its status changed otherwise.
    TemplateStatus,
    /// The quality of a template changed.
    TemplateQuality,
    /// The category of a template changed.
    TemplateCategory,
    /// The components of a template changed.
    TemplateComponents,
    /// The account was changed, restricted, banned or the like.
    Account,
    /// An alert that the account's owner should look at.
    AccountAlert,
    /// The review of the account.
    AccountReview,
    /// Settings of the account or of a number.
    AccountSettings,
    /// The limits of what the business may send.
    Capability,
    /// The quality, limit or throughput of a number.
    NumberQuality,
    /// The display name of a number.
    NumberName,
    /// The PIN of a number.
    Security,
    /// The business's user name.
    Username,
    /// A WhatsApp flow.
    Flow,
    /// A partner solution.
    Partner,
    /// A payment configuration.
    Payment,
}

impl NoticeKind {
    /// Returns the name of the kind in records.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The id of a notice: 32 hexadecimal digits of a hash of its contents, so that a repeated notice is recognized.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NoticeId(String);

impl NoticeId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A provider's report about an account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// Id by which a repeated notice is recognized.
    pub id: NoticeId,
    /// The provider that reported the notice.
    pub provider: Provider,
    /// The account, by the provider's id (Meta's WABA id).
    pub account: String,
    /// Subject of the notice.
    pub kind: NoticeKind,
    /// Short summary of the notice. No personal data.
    pub summary: String,
    /// Time of the notice by the provider's clock; if the provider gives none, the time the webhook arrived.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// Further details, as a small JSON value. No personal data.
    pub details: Value,
}

/// A notice that has no id yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewNotice {
    /// Subject of the notice.
    pub kind: NoticeKind,
    /// Short summary of the notice. No personal data.
    pub summary: String,
    /// Time of the notice by the provider's clock; `None` if the provider gives none.
    pub at: Option<Timestamp>,
    /// Further details, as a small JSON value. No personal data.
    pub details: Value,
}

impl Notice {
    /// Creates a notice whose webhook arrived at `received_at`. Its id is a hash of the values that stay the same when
    /// the webhook is repeated, so `received_at` is not part of it.
    pub fn with_derived_id(
        provider: Provider,
        account: &str,
        told: NewNotice,
        received_at: Timestamp,
    ) -> Self {
        let at = told
            .at
            .map(|at| at.as_millisecond().to_string())
            .unwrap_or_default();
        let canonical =
            serde_json_canonicalizer::to_string(&told.details).unwrap_or_else(|_| told.details.to_string());
        let parts = [
            "notice",
            provider.as_str(),
            account,
            told.kind.as_str(),
            &at,
            &told.summary,
            &canonical,
        ];
        Self {
            id: NoticeId(hash_parts(&parts, 16)),
            provider,
            account: account.to_owned(),
            kind: told.kind,
            summary: told.summary,
            at: told.at.unwrap_or(received_at),
            details: told.details,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::millis::from_unix_millis;
    use serde_json::json;

    fn notice(account: &str, details: Value, at: Option<i64>, received_at: i64) -> Notice {
        let told = NewNotice {
            kind: NoticeKind::Account,
            summary: "account: verified".to_owned(),
            at: at.map(from_unix_millis),
            details,
        };
        Notice::with_derived_id(Provider::Meta, account, told, from_unix_millis(received_at))
    }

    #[test]
    fn a_repetition_has_the_same_id_whenever_it_comes() {
        let first = notice("1", json!({"event": "VERIFIED_ACCOUNT", "n": 1}), None, 5_000);
        let again = notice("1", json!({"n": 1, "event": "VERIFIED_ACCOUNT"}), None, 9_000);
        assert_eq!(first.id, again.id);
        assert_eq!(
            (first.at, again.at),
            (from_unix_millis(5_000), from_unix_millis(9_000))
        );
    }

    #[test]
    fn another_account_time_or_content_is_another_notice() {
        let one = notice("1", json!({"a": 1}), Some(1_000), 0);
        for other in [
            notice("2", json!({"a": 1}), Some(1_000), 0),
            notice("1", json!({"a": 2}), Some(1_000), 0),
            notice("1", json!({"a": 1}), Some(2_000), 0),
        ] {
            assert_ne!(one.id, other.id);
        }
        assert_eq!(one.id.as_str().len(), 32);
    }
}
