//! Reads the fields about an account: templates, quality, limits, restrictions. Only the entry's id names the account.

mod summary;

use crate::wire::json::{get_scalar_text, get_text, parse_timestamp, sanitize_label};
use jiff::Timestamp;
use recado_domain::inbound::WebhookItem;
use recado_domain::notice::{NewNotice, Notice, NoticeKind};
use recado_domain::provider::Provider;
use serde_json::{Map, Value, json};

/// Builds a notice from a change; `None` if the change's field is not about an account.
pub(super) fn build_notice_item(
    provider: Provider,
    entry: &Value,
    field: &str,
    value: &Value,
    received_at: Timestamp,
) -> Option<WebhookItem> {
    let kind = parse_notice_kind(field, value)?;
    let Some(account) = find_account_id(entry, value) else {
        return Some(WebhookItem::ignored(sanitize_label(field)));
    };
    let at = parse_timestamp(entry.get("time")).or_else(|| parse_timestamp(value.get("timestamp")));
    let told = NewNotice {
        kind,
        summary: summary::summarize_notice(kind, value),
        at,
        details: extract_details(value),
    };
    Some(WebhookItem::Notice {
        notice: Notice::with_derived_id(provider, &account, told, received_at),
        proven_by: None,
    })
}

/// Builds the notice that a field which is not known holds messages of contacts. Each field is told once. `None` if no account is named.
pub(super) fn tell_unknown_field(
    provider: Provider,
    entry: &Value,
    field: &str,
    value: &Value,
    received_at: Timestamp,
) -> Option<WebhookItem> {
    let field = sanitize_label(field);
    let told = NewNotice {
        kind: NoticeKind::AccountAlert,
        summary: format!(
            "messages came in the field {field}, which is not known: they are stored, not answered"
        ),
        // The same notice each time.
        at: None,
        details: json!({ "field": field }),
    };
    let account = find_account_id(entry, value)?;
    Some(WebhookItem::Notice {
        notice: Notice::with_derived_id(provider, &account, told, received_at),
        proven_by: None,
    })
}

fn parse_notice_kind(field: &str, value: &Value) -> Option<NoticeKind> {
    Some(match field {
        // A change of quality may come under this name, too.
        "message_template_status_update" if value.get("new_quality_score").is_some() => {
            NoticeKind::TemplateQuality
        }
        "message_template_status_update" => NoticeKind::TemplateStatus,
        "message_template_quality_update" => NoticeKind::TemplateQuality,
        "message_template_components_update" => NoticeKind::TemplateComponents,
        "template_category_update" => NoticeKind::TemplateCategory,
        "account_update" => NoticeKind::Account,
        "account_alerts" => NoticeKind::AccountAlert,
        "account_review_update" => NoticeKind::AccountReview,
        "account_settings_update" => NoticeKind::AccountSettings,
        "business_capability_update" => NoticeKind::Capability,
        "phone_number_quality_update" => NoticeKind::NumberQuality,
        "phone_number_name_update" => NoticeKind::NumberName,
        "security" => NoticeKind::Security,
        "business_username_update" | "business_username_updates" => NoticeKind::Username,
        "flows" => NoticeKind::Flow,
        "partner_solutions" => NoticeKind::Partner,
        "payment_configuration_update" => NoticeKind::Payment,
        // No conversation can show it.
        "messaging_handovers" if super::standby::names_nobody(value) => NoticeKind::AccountAlert,
        _ => return None,
    })
}

/// Returns the account's id. A notice for a partner about a client's account has the partner's own id in the entry, so
/// the account in the value has priority.
fn find_account_id(entry: &Value, value: &Value) -> Option<String> {
    let named = value
        .get("waba_info")
        .and_then(|account| get_scalar_text(account, "waba_id"));
    let fine = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    named
        .or_else(|| get_scalar_text(entry, "id"))
        .filter(|id| id.len() <= 64 && id.chars().all(fine))
}

/// Names of the fields that are kept of a value, at every depth. They hold constants and numbers of Meta's, no free
/// texts and no phone numbers.
const KEPT_FIELDS: [&str; 63] = [
    "alert_info",
    "alert_severity",
    "alert_status",
    "alert_type",
    "auth_international_rate_eligibility",
    "ban_info",
    "call_icon_visibility",
    "callback_permission_status",
    "calling",
    "category_update_timestamp",
    "configuration_name",
    "correct_category",
    "country",
    "country_code",
    "current_limit",
    "decision",
    "disable_date",
    "disable_info",
    "effective_month",
    "entity_type",
    "error_count",
    "error_rate",
    "event",
    "exception_countries",
    "expiration",
    "flow_id",
    "max_daily_conversation_per_phone",
    "max_daily_conversations_per_business",
    "max_phone_numbers_per_business",
    "max_phone_numbers_per_waba",
    "message_template_category",
    "message_template_id",
    "message_template_language",
    "message_template_name",
    "new_category",
    "new_quality_score",
    "new_status",
    "old_limit",
    "old_status",
    "partner_app_id",
    "partner_client_certification_info",
    "phone_number_id",
    "phone_number_settings",
    "previous_category",
    "previous_quality_score",
    "pricing_category",
    "provider_name",
    "reason",
    "region",
    "rejection_reason",
    "rejection_reasons",
    "restriction_info",
    "restriction_type",
    "solution_id",
    "solution_status",
    "start_time",
    "status",
    "threshold",
    "tier",
    "tier_update_time",
    "type",
    "violation_info",
    "violation_type",
];

/// More fields that are kept. Their meaning does not follow from the name alone, so they are listed apart.
const KEPT_FIELDS_MORE: [&str; 4] = ["volume_tier_info", "waba_ban_date", "waba_ban_state", "waba_info"];

/// Limits on depth, members and text length (in characters) of the kept value; Meta's own bodies stay far below.
const DEPTH_MAX: usize = 4;
const MEMBERS_MAX: usize = 20;
const TEXT_MAX: usize = 120;

/// Returns the fields of a value that are kept, and the masked phone number.
fn extract_details(value: &Value) -> Value {
    let mut kept = keep_known_fields(value, DEPTH_MAX).unwrap_or_else(|| json!({}));
    if let (Some(number), Value::Object(fields)) = (mask_number(value), &mut kept) {
        fields.insert("number".to_owned(), json!(number));
    }
    kept
}

fn keep_known_fields(value: &Value, depth: usize) -> Option<Value> {
    Some(match value {
        Value::Object(fields) if depth > 0 => {
            let known = fields.iter().filter(|(name, _)| {
                KEPT_FIELDS.contains(&name.as_str()) || KEPT_FIELDS_MORE.contains(&name.as_str())
            });
            let fields: Map<String, Value> = known
                .filter_map(|(name, value)| Some((name.clone(), keep_known_fields(value, depth - 1)?)))
                .collect();
            if fields.is_empty() {
                return None;
            }
            Value::Object(fields)
        }
        Value::Array(members) if depth > 0 => members
            .iter()
            .take(MEMBERS_MAX)
            .filter_map(|member| keep_known_fields(member, depth - 1))
            .collect(),
        Value::String(text) => json!(text.chars().take(TEXT_MAX).collect::<String>()),
        Value::Number(_) | Value::Bool(_) => value.clone(),
        _ => return None,
    })
}

/// Returns the masked phone number that a notice is about: `…` and its last four digits.
fn mask_number(value: &Value) -> Option<String> {
    let written = get_text(value, "display_phone_number").or_else(|| get_text(value, "phone_number"))?;
    let digits: Vec<char> = written.chars().filter(char::is_ascii_digit).collect();
    let last = digits.len().checked_sub(4).filter(|first| *first > 0)?;
    Some(format!("…{}", digits[last..].iter().collect::<String>()))
}

#[cfg(test)]
mod tests;
