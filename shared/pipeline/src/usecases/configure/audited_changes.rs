//! Tells the audit what a change of the configuration does to each tenant, calendar, tool, agent and instance.

use super::{ConfigurationChange, ConfigurationChangeKind};
use recado_domain::audit::{AuditAction, AuditedAction};
use recado_domain::config::{AlertConfig, ConfigDocument};
use recado_domain::ids::TenantId;
use recado_domain::price::PriceList;
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
    let tenants = compare_entries("tenant", &before.tenants, &after.tenants, |tenant| {
        (tenant.id.as_str(), &tenant.id)
    });
    let calendars = compare_entries("calendar", &before.calendars, &after.calendars, |calendar| {
        (calendar.id.as_str(), &calendar.tenant)
    });
    let tools = compare_entries("tool", &before.tools, &after.tools, |tool| {
        (tool.id.as_str(), &tool.tenant)
    });
    let agents = compare_entries("agent", &before.agents, &after.agents, |agent| {
        (agent.id.as_str(), &agent.tenant)
    });
    let instances = compare_entries("instance", &before.instances, &after.instances, |instance| {
        (instance.id.as_str(), &instance.tenant)
    });
    let alerts = compare_alerts(before.alerts.as_ref(), after.alerts.as_ref());
    let prices = compare_prices(before.prices.as_ref(), after.prices.as_ref());
    [
        tenants,
        calendars,
        tools,
        agents,
        instances,
        alerts.into_iter().chain(prices).collect(),
    ]
    .concat()
}

/// Tells the prices that change.
fn compare_prices(before: Option<&PriceList>, after: Option<&PriceList>) -> Option<AuditedAction> {
    let prices = |list: Option<&PriceList>| list.map_or_else(Vec::new, |list| list.prices.clone());
    let (before, after) = (prices(before), prices(after));
    let gone: Vec<_> = before.iter().filter(|price| !after.contains(price)).collect();
    let new: Vec<_> = after.iter().filter(|price| !before.contains(price)).collect();
    let write = |prices| serde_json::to_string(prices).unwrap_or_default();
    (!gone.is_empty() || !new.is_empty()).then(|| {
        let changed = AuditAction::ConfigurationChanged;
        AuditedAction::on_object(changed, None, "prices", "prices").with_change(write(&gone), write(&new))
    })
}

/// Tells which fields of the alerts change. Their contents are left out: they hold numbers and addresses of people.
fn compare_alerts(before: Option<&AlertConfig>, after: Option<&AlertConfig>) -> Option<AuditedAction> {
    let default = AlertConfig::default();
    let fields = differing_fields(before.unwrap_or(&default), after.unwrap_or(&default));
    (!fields.is_empty()).then(|| {
        let changed = AuditAction::ConfigurationChanged;
        let audited = AuditedAction::on_object(changed, None, "alerts", "alerts");
        audited.with_result(fields.join(", "))
    })
}

fn compare_entries<T: Serialize + PartialEq>(
    kind: &'static str,
    before: &[T],
    after: &[T],
    identify: impl Fn(&T) -> (&str, &TenantId),
) -> Vec<AuditedAction> {
    let audited = |entry: &T| {
        let (id, tenant) = identify(entry);
        AuditedAction::on_object(AuditAction::ConfigurationChanged, Some(tenant), kind, id)
    };
    let old: BTreeMap<&str, &T> = before.iter().map(|entry| (identify(entry).0, entry)).collect();
    let mut removed = old.clone();
    let mut changes = Vec::new();
    for entry in after {
        let id = identify(entry).0;
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
    changes
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

pub(super) fn collect_changes<T: Serialize>(
    kind: &'static str,
    known: &[T],
    change: &[T],
    id: impl Fn(&T) -> &str,
    into: &mut Vec<ConfigurationChange>,
) {
    for item in change {
        let before = known.iter().find(|known| id(known) == id(item));
        let fields = before
            .map(|before| differing_fields(before, item))
            .unwrap_or_default();
        let what = match before {
            None => ConfigurationChangeKind::Created,
            Some(_) if fields.is_empty() => ConfigurationChangeKind::Unchanged,
            Some(_) => ConfigurationChangeKind::Changed,
        };
        into.push(ConfigurationChange {
            kind,
            id: id(item).to_owned(),
            what,
            fields,
            conversations: None,
        });
    }
}
