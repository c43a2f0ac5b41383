//! What a provider tells of the account that numbers belong to: templates, quality, limits, restrictions.

use crate::ids::hash_parts;
use crate::millis;
use crate::provider::Provider;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How many of an account's notices are shown: the newest.
pub const NOTICES_MAX: usize = 50;

/// How long a notice is kept, in milliseconds: 90 days.
pub const NOTICE_RETENTION_MS: i64 = 90 * 86_400_000;

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeKind {
    /// A template was approved, rejected, paused …
    TemplateStatus,
    /// A template's quality.
    TemplateQuality,
    /// A template's category.
    TemplateCategory,
    /// What a template consists of.
    TemplateComponents,
    /// The account was changed, restricted, banned …
    Account,
    /// Something that the account's owner should look at.
    AccountAlert,
    /// The account's review.
    AccountReview,
    /// Settings of the account or a number.
    AccountSettings,
    /// How much the business may send.
    Capability,
    /// A number's quality, limit or throughput.
    NumberQuality,
    /// A number's display name.
    NumberName,
    /// A number's PIN.
    Security,
    /// The business's user name.
    Username,
    /// A flow.
    Flow,
    /// A solution of partners.
    Partner,
    /// A payment configuration.
    Payment,
}

impl NoticeKind {
    /// Its name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TemplateStatus => "template_status",
            Self::TemplateQuality => "template_quality",
            Self::TemplateCategory => "template_category",
            Self::TemplateComponents => "template_components",
            Self::Account => "account",
            Self::AccountAlert => "account_alert",
            Self::AccountReview => "account_review",
            Self::AccountSettings => "account_settings",
            Self::Capability => "capability",
            Self::NumberQuality => "number_quality",
            Self::NumberName => "number_name",
            Self::Security => "security",
            Self::Username => "username",
            Self::Flow => "flow",
            Self::Partner => "partner",
            Self::Payment => "payment",
        }
    }
}

/// By what a notice is known again: 32 hexadecimal digits of a hash of what it says.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NoticeId(String);

impl NoticeId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One thing that a provider told of an account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// By what it is known again.
    pub id: NoticeId,
    /// Who told it.
    pub provider: Provider,
    /// The account, as the provider calls it (Meta's WABA id).
    pub account: String,
    /// What it is about.
    pub kind: NoticeKind,
    /// The same in a few words. No personal data.
    pub summary: String,
    /// When, as the provider says; where it does not, when the webhook arrived.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// The rest of it, small. No personal data.
    pub details: Value,
}

/// What is told, before it has an id.
#[derive(Debug, Clone, PartialEq)]
pub struct NewNotice {
    /// What it is about.
    pub kind: NoticeKind,
    /// The same in a few words.
    pub summary: String,
    /// When, where the provider says so.
    pub at: Option<Timestamp>,
    /// The rest of it.
    pub details: Value,
}

impl Notice {
    /// A notice that came at `received_at`. Its id is made of what stays the same in every repetition of the webhook.
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

    /// The newest [`NOTICES_MAX`] of `notices`, the newest first.
    pub fn newest_first(mut notices: Vec<Self>) -> Vec<Self> {
        notices.sort_by(|a, b| (b.at, &b.id).cmp(&(a.at, &a.id)));
        notices.truncate(NOTICES_MAX);
        notices
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
        Notice::with_derived_id(
            Provider::from_static("meta"),
            account,
            told,
            from_unix_millis(received_at),
        )
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

    #[test]
    fn the_newest_fifty_are_shown_the_newest_first() {
        let all: Vec<Notice> = (0..60)
            .map(|n| notice("1", json!({}), Some(n * 1_000), 0))
            .collect();
        let shown = Notice::newest_first(all);
        assert_eq!(shown.len(), NOTICES_MAX);
        assert_eq!(
            (shown[0].at, shown[49].at),
            (from_unix_millis(59_000), from_unix_millis(10_000))
        );
    }
}
