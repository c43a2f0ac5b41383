//! Summarizes a notice in a few words.

use super::mask_number;
use crate::meta::parse::thread_origin::read_role;
use crate::wire::error_title::mask_error_title;
use crate::wire::json::{get_text, list_members, parse_integer};
use recado_domain::notice::NoticeKind;
use serde_json::Value;

/// Longest word or name that is kept, in characters.
const WORD_MAX: usize = 60;

/// Returns a summary such as `template lembrete (pt_BR): rejected, SCAM`.
pub(super) fn summarize_notice(kind: NoticeKind, value: &Value) -> String {
    if let Some(words) = describe_handover(value) {
        return words;
    }
    let parts: Vec<String> = describe_changes(kind, value).into_iter().flatten().collect();
    let what = if parts.is_empty() {
        "changed".to_owned()
    } else {
        parts.join(", ")
    };
    format!("{}: {what}", describe_subject(kind, value))
}

/// Describes a change of the holder of a thread that names no contact; `None` for any other value.
fn describe_handover(value: &Value) -> Option<String> {
    let what = get_text(value, "type").filter(|what| what.starts_with("control_"))?;
    let detail = value.get(what).unwrap_or(&Value::Null);
    let role = |whose| read_role(detail, whose).unwrap_or_else(|| "another program".to_owned());
    let (from, to) = (role("previous_owner"), role("new_owner"));
    Some(format!(
        "a thread changed from {from} to {to}; its contact is not named"
    ))
}

fn describe_subject(kind: NoticeKind, value: &Value) -> String {
    let named = |what: &str, name: Option<String>| match name {
        Some(name) => format!("{what} {name}"),
        None => what.to_owned(),
    };
    match kind {
        NoticeKind::TemplateStatus
        | NoticeKind::TemplateQuality
        | NoticeKind::TemplateCategory
        | NoticeKind::TemplateComponents => {
            let language =
                read_masked_word(value, "message_template_language").map(|language| format!(" ({language})"));
            let name = read_masked_word(value, "message_template_name");
            named("template", name) + &language.unwrap_or_default()
        }
        NoticeKind::NumberQuality | NoticeKind::NumberName | NoticeKind::Security => {
            named("number", mask_number(value))
        }
        NoticeKind::Account => match mask_number(value) {
            Some(number) => format!("account, number {number}"),
            None => "account".to_owned(),
        },
        NoticeKind::AccountAlert => "alert".to_owned(),
        NoticeKind::AccountReview => "review".to_owned(),
        NoticeKind::AccountSettings => "settings".to_owned(),
        NoticeKind::Capability => "limits".to_owned(),
        NoticeKind::Username => "user name".to_owned(),
        NoticeKind::Flow => "flow".to_owned(),
        NoticeKind::Partner => "partner".to_owned(),
        NoticeKind::Payment => named(
            "payment configuration",
            read_masked_word(value, "configuration_name"),
        ),
    }
}

fn describe_changes(kind: NoticeKind, value: &Value) -> Vec<Option<String>> {
    let event = || read_lowercase_word(value, "event");
    match kind {
        NoticeKind::TemplateStatus => vec![
            event(),
            read_masked_word(value, "reason"),
            read_nested_word(value, "disable_info", "disable_date"),
        ],
        NoticeKind::TemplateQuality => vec![describe_transition(
            value,
            "previous_quality_score",
            "new_quality_score",
        )],
        NoticeKind::TemplateCategory => vec![
            describe_transition(value, "previous_category", "new_category"),
            read_masked_word(value, "correct_category").map(|category| format!("becomes {category}")),
        ],
        NoticeKind::TemplateComponents => Vec::new(),
        NoticeKind::Account => describe_account(value),
        NoticeKind::AccountAlert => {
            let of = |key| read_nested_word(value, "alert_info", key);
            vec![of("alert_type"), of("alert_severity"), of("alert_status")]
        }
        NoticeKind::AccountReview => vec![
            read_lowercase_word(value, "decision"),
            read_masked_word(value, "rejection_reason"),
        ],
        NoticeKind::AccountSettings => vec![read_masked_word(value, "type")],
        NoticeKind::Capability => vec![describe_limits(value)],
        NoticeKind::NumberQuality => vec![
            event(),
            read_masked_word(value, "current_limit").map(|limit| format!("limit {limit}")),
        ],
        NoticeKind::NumberName => vec![
            read_lowercase_word(value, "decision").map(|decision| format!("name {decision}")),
            read_masked_word(value, "rejection_reason"),
        ],
        NoticeKind::Security => vec![event()],
        NoticeKind::Username => vec![event().or_else(|| read_lowercase_word(value, "status"))],
        NoticeKind::Flow => vec![event(), describe_transition(value, "old_status", "new_status")],
        NoticeKind::Partner => vec![event(), read_masked_word(value, "solution_status")],
        NoticeKind::Payment => vec![read_lowercase_word(value, "status")],
    }
}

fn describe_account(value: &Value) -> Vec<Option<String>> {
    let restrictions: Vec<String> = list_members(value.get("restriction_info"))
        .iter()
        .filter_map(|restriction| read_masked_word(restriction, "restriction_type"))
        .collect();
    vec![
        read_lowercase_word(value, "event"),
        read_nested_word(value, "ban_info", "waba_ban_state"),
        read_nested_word(value, "ban_info", "waba_ban_date"),
        read_nested_word(value, "violation_info", "violation_type"),
        read_nested_word(value, "partner_client_certification_info", "status"),
        read_nested_word(value, "volume_tier_info", "pricing_category"),
        read_masked_word(value, "country"),
        (!restrictions.is_empty()).then(|| restrictions.join(", ")),
    ]
}

/// Lists the limits in a value, such as `max_phone_numbers_per_waba 25`.
fn describe_limits(value: &Value) -> Option<String> {
    let limits = value.as_object()?.iter().filter_map(|(name, limit)| {
        let known = super::KEPT_FIELDS.contains(&name.as_str()) && name.starts_with("max_");
        known.then(|| Some(format!("{name} {}", parse_integer(limit)?)))?
    });
    let limits: Vec<String> = limits.collect();
    (!limits.is_empty()).then(|| limits.join(", "))
}

fn describe_transition(value: &Value, before: &str, after: &str) -> Option<String> {
    let after = read_masked_word(value, after)?;
    Some(match read_masked_word(value, before) {
        Some(before) => format!("{before} to {after}"),
        None => after,
    })
}

/// Returns a constant of Meta's in plain lower case: `PIN_RESET_REQUEST` becomes `pin reset request`.
fn read_lowercase_word(value: &Value, key: &str) -> Option<String> {
    read_masked_word(value, key).map(|word| word.replace('_', " ").to_lowercase())
}

fn read_nested_word(value: &Value, part: &str, key: &str) -> Option<String> {
    read_masked_word(value.get(part)?, key)
}

/// Returns a word or name, with numbers and addresses masked; `None` if it is missing, empty or `NONE`.
fn read_masked_word(value: &Value, key: &str) -> Option<String> {
    let word: String = mask_error_title(get_text(value, key)?)
        .chars()
        .take(WORD_MAX)
        .collect();
    (word != "NONE" && !word.is_empty()).then_some(word)
}
