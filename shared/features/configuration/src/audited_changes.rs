//! Tells the audit what a change of the configuration does to each tenant, calendar, tool, agent and instance.

use crate::{ConfigurationChange, ConfigurationChangeKind};
use recado_domain::audit::{AuditAction, AuditedAction};
use recado_domain::config::{Agent, AlertConfig, Calendar, ConfigDocument, ConfigEntry, Instance, Tenant};
use recado_domain::price::PriceList;
use recado_domain::tools::Tool;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The longest text of a field that the audit shows, in characters. So a prompt is found again as it was.
const FIELD_MAX: usize = 16_000;

/// Fields that the audit tells by their names alone. They hold numbers of contacts (`access`), addresses of people (`google`,
/// `email_senders`) or URLs that may be secrets (`webhooks`), and an entry outlives an erasure.
const HIDDEN_PARTS: [&str; 4] = ["access", "email_senders", "google", "webhooks"];

/// What stands in the audit for the content of a field that it does not show.
const NOT_SHOWN: &str = "(not shown)";

/// Lists what makes `after` of `before`: what is created, changed and removed.
pub(super) fn list_audited_changes(before: &ConfigDocument, after: &ConfigDocument) -> Vec<AuditedAction> {
    let mut changes = Vec::new();
    compare_entries::<Tenant>(before, after, &mut changes);
    compare_entries::<Calendar>(before, after, &mut changes);
    compare_entries::<Tool>(before, after, &mut changes);
    compare_entries::<Agent>(before, after, &mut changes);
    compare_entries::<Instance>(before, after, &mut changes);
    changes.extend(compare_alerts(before.alerts.as_ref(), after.alerts.as_ref()));
    changes.extend(compare_prices(before.prices.as_ref(), after.prices.as_ref()));
    changes
}

/// Tells the prices that change.
fn compare_prices(before: Option<&PriceList>, after: Option<&PriceList>) -> Option<AuditedAction> {
    let prices = |list: Option<&PriceList>| list.map_or_else(Vec::new, |list| list.prices.clone());
    let (before, after) = (prices(before), prices(after));
    let gone: Vec<_> = before.iter().filter(|price| !after.contains(price)).collect();
    let new: Vec<_> = after.iter().filter(|price| !before.contains(price)).collect();
    let write = |prices| serde_json::to_string(prices).unwrap_or_default();
    (!gone.is_empty() || !new.is_empty()).then(|| {
        AuditAction::ConfigurationChanged
            .on_object(None, "prices", "prices")
            .with_change(write(&gone), write(&new))
    })
}

/// Tells which fields of the alerts change. Their contents are left out: they hold numbers and addresses of people.
fn compare_alerts(before: Option<&AlertConfig>, after: Option<&AlertConfig>) -> Option<AuditedAction> {
    let default = AlertConfig::default();
    let fields = differing_fields(before.unwrap_or(&default), after.unwrap_or(&default));
    (!fields.is_empty()).then(|| {
        let changed = AuditAction::ConfigurationChanged;
        let audited = changed.on_object(None, "alerts", "alerts");
        audited.with_result(fields.join(", "))
    })
}

fn compare_entries<T: ConfigEntry>(
    before: &ConfigDocument,
    after: &ConfigDocument,
    changes: &mut Vec<AuditedAction>,
) {
    let audited = |entry: &T| {
        let (action, owner) = (AuditAction::ConfigurationChanged, Some(entry.owner()));
        action.on_object(owner, T::KIND, entry.entry_id())
    };
    let old = T::list_of(before).iter();
    let old: BTreeMap<&str, &T> = old.map(|entry| (entry.entry_id(), entry)).collect();
    let mut removed = old.clone();
    for entry in T::list_of(after) {
        let id = entry.entry_id();
        removed.remove(id);
        match old.get(id) {
            Some(known) if *known == entry => {}
            Some(known) => {
                let fields = differing_fields(*known, entry);
                let (old, new) = (shorten_fields(*known, &fields), shorten_fields(entry, &fields));
                changes.push(audited(entry).with_change(old, new));
            }
            None => {
                let fields: Vec<String> = to_fields(entry).keys().cloned().collect();
                changes.push(audited(entry).with_result(shorten_fields(entry, &fields)));
            }
        }
    }
    changes.extend(removed.into_values().map(|entry| {
        let fields: Vec<String> = to_fields(entry).keys().cloned().collect();
        audited(entry).with_change(shorten_fields(entry, &fields), "removed")
    }));
}

/// Writes the named fields as JSON, each long text cut. The fields of [`HIDDEN_PARTS`] are written by their names alone.
fn shorten_fields<T: Serialize>(entry: &T, names: &[String]) -> String {
    let shorten = |name: &str, value: &Value| match value {
        Value::String(text) if text.chars().count() > FIELD_MAX => {
            Value::String(text.chars().take(FIELD_MAX).chain(['…']).collect())
        }
        Value::Array(_) | Value::Object(_) if HIDDEN_PARTS.contains(&name) => Value::from(NOT_SHOWN),
        value => value.clone(),
    };
    let all = to_fields(entry);
    let known = names
        .iter()
        .filter_map(|name| Some((name.clone(), shorten(name, all.get(name)?))));
    Value::Object(known.collect::<Map<String, Value>>()).to_string()
}

/// Returns the names of the fields in which two records differ. A field that only one of them has differs, too.
fn differing_fields<T: Serialize>(before: &T, after: &T) -> Vec<String> {
    let (before, after) = (to_fields(before), to_fields(after));
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let changed = |name: &&String| before.get(*name) != after.get(*name);
    after.keys().chain(gone).filter(changed).cloned().collect()
}

fn to_fields<T: Serialize>(item: &T) -> Map<String, Value> {
    match serde_json::to_value(item) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// Describes what becomes of a part of the configuration with this kind and id. `None`: the document does not name it.
pub(super) fn describe_change(
    (kind, id): (&'static str, &str),
    before: Option<Value>,
    after: Option<Value>,
) -> Option<ConfigurationChange> {
    let after = after?;
    let is_new = before.is_none();
    let fields = before.map(|before| differing_fields(&before, &after));
    let fields = fields.unwrap_or_default();
    let what = if is_new {
        ConfigurationChangeKind::Created
    } else if fields.is_empty() {
        ConfigurationChangeKind::Unchanged
    } else {
        ConfigurationChangeKind::Changed
    };
    Some(ConfigurationChange {
        kind,
        id: id.to_owned(),
        what,
        fields,
        conversations: None,
    })
}
