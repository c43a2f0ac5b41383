//! A notice in a few words.

use super::number;
use crate::error_title::error_title;
use crate::json::{integer, list, text};
use recado_domain::notice::NoticeKind;
use serde_json::Value;

/// The longest word or name kept, in characters.
const WORD_MAX: usize = 60;

/// The words: `template lembrete (pt_BR): rejected, SCAM`.
pub(super) fn of(kind: NoticeKind, value: &Value) -> String {
    let parts: Vec<String> = parts(kind, value).into_iter().flatten().collect();
    let what = if parts.is_empty() {
        "changed".to_owned()
    } else {
        parts.join(", ")
    };
    format!("{}: {what}", subject(kind, value))
}

fn subject(kind: NoticeKind, value: &Value) -> String {
    let named = |what: &str, name: Option<String>| match name {
        Some(name) => format!("{what} {name}"),
        None => what.to_owned(),
    };
    match kind {
        NoticeKind::TemplateStatus
        | NoticeKind::TemplateQuality
        | NoticeKind::TemplateCategory
        | NoticeKind::TemplateComponents => {
            let language = word(value, "message_template_language").map(|language| format!(" ({language})"));
            let name = word(value, "message_template_name");
            named("template", name) + &language.unwrap_or_default()
        }
        NoticeKind::NumberQuality | NoticeKind::NumberName | NoticeKind::Security => {
            named("number", number(value))
        }
        NoticeKind::Account => match number(value) {
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
        NoticeKind::Payment => named("payment configuration", word(value, "configuration_name")),
    }
}

fn parts(kind: NoticeKind, value: &Value) -> Vec<Option<String>> {
    let event = || said(value, "event");
    match kind {
        NoticeKind::TemplateStatus => vec![
            event(),
            word(value, "reason"),
            inner(value, "disable_info", "disable_date"),
        ],
        NoticeKind::TemplateQuality => vec![turned(value, "previous_quality_score", "new_quality_score")],
        NoticeKind::TemplateCategory => vec![
            turned(value, "previous_category", "new_category"),
            word(value, "correct_category").map(|category| format!("becomes {category}")),
        ],
        NoticeKind::TemplateComponents => Vec::new(),
        NoticeKind::Account => account(value),
        NoticeKind::AccountAlert => {
            let of = |key| inner(value, "alert_info", key);
            vec![of("alert_type"), of("alert_severity"), of("alert_status")]
        }
        NoticeKind::AccountReview => vec![said(value, "decision"), word(value, "rejection_reason")],
        NoticeKind::AccountSettings => vec![word(value, "type")],
        NoticeKind::Capability => vec![limits(value)],
        NoticeKind::NumberQuality => vec![
            event(),
            word(value, "current_limit").map(|limit| format!("limit {limit}")),
        ],
        NoticeKind::NumberName => vec![
            said(value, "decision").map(|decision| format!("name {decision}")),
            word(value, "rejection_reason"),
        ],
        NoticeKind::Security => vec![event()],
        NoticeKind::Username => vec![event().or_else(|| said(value, "status"))],
        NoticeKind::Flow => vec![event(), turned(value, "old_status", "new_status")],
        NoticeKind::Partner => vec![event(), word(value, "solution_status")],
        NoticeKind::Payment => vec![said(value, "status")],
    }
}

fn account(value: &Value) -> Vec<Option<String>> {
    let restrictions: Vec<String> = list(value.get("restriction_info"))
        .iter()
        .filter_map(|restriction| word(restriction, "restriction_type"))
        .collect();
    vec![
        said(value, "event"),
        inner(value, "ban_info", "waba_ban_state"),
        inner(value, "ban_info", "waba_ban_date"),
        inner(value, "violation_info", "violation_type"),
        inner(value, "partner_client_certification_info", "status"),
        inner(value, "volume_tier_info", "pricing_category"),
        word(value, "country"),
        (!restrictions.is_empty()).then(|| restrictions.join(", ")),
    ]
}

/// `max_phone_numbers_per_waba 25` and the like.
fn limits(value: &Value) -> Option<String> {
    let limits = value.as_object()?.iter().filter_map(|(name, limit)| {
        let known = super::KEPT.contains(&name.as_str()) && name.starts_with("max_");
        known.then(|| Some(format!("{name} {}", integer(limit)?)))?
    });
    let limits: Vec<String> = limits.collect();
    (!limits.is_empty()).then(|| limits.join(", "))
}

fn turned(value: &Value, before: &str, after: &str) -> Option<String> {
    let after = word(value, after)?;
    Some(match word(value, before) {
        Some(before) => format!("{before} to {after}"),
        None => after,
    })
}

/// A constant of Meta's in plain letters: `PIN_RESET_REQUEST` is `pin reset request`.
fn said(value: &Value, key: &str) -> Option<String> {
    word(value, key).map(|word| word.replace('_', " ").to_lowercase())
}

fn inner(value: &Value, part: &str, key: &str) -> Option<String> {
    word(value.get(part)?, key)
}

/// A word or name, masked should it hold a number or an address; `NONE` says nothing.
fn word(value: &Value, key: &str) -> Option<String> {
    let word: String = error_title(text(value, key)?).chars().take(WORD_MAX).collect();
    (word != "NONE" && !word.is_empty()).then_some(word)
}
