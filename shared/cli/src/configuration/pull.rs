//! Writes entries that were changed in the installation back into the configuration file.

use super::toml_text::change_fields;
use crate::installation::InstallationClient;
use anyhow::{Context, Result, bail};
use recado_domain::config::{
    Agent, Calendar, ConfigDocument, ConfigEntry, FIELDS_OF_NO_DOCUMENT, Instance, Tenant, name_entry,
};
use recado_domain::tools::Tool;
use recado_machine::configuration_file::{parse_configuration, read_configuration};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// An entry that is stored otherwise than the file says.
#[derive(Debug, Clone, PartialEq)]
struct StoredChange {
    /// The array of tables in the file.
    table: &'static str,
    /// The kind, and the id.
    kind: &'static str,
    id: String,
    /// The fields that differ, as they are stored. `None`: it is stored without the field.
    fields: BTreeMap<String, Option<Value>>,
}

/// The differences between a file and the installation.
#[derive(Debug, Default, PartialEq)]
struct Differences {
    changes: Vec<StoredChange>,
    /// Names of entries of the file that are not stored.
    gone: Vec<String>,
    /// Names of parts that are not written back: alerts and prices.
    left: Vec<&'static str>,
}

/// Writes what is stored into the file, and prints what that changes. The file before is kept beside it. With `dry_run`, only prints.
pub(super) async fn pull_entries(path: &Path, there: &InstallationClient, dry_run: bool) -> Result<()> {
    let file = read_configuration(path)?;
    let stored = there.get_configuration().await?.document;
    let differences = compare_documents(&file, &stored);
    let shown = path.display();
    for name in &differences.gone {
        eprintln!("Warning: {name} is not there any more: take it out of the file, or apply the file");
    }
    for part in &differences.left {
        eprintln!("Warning: {part} differ: write them into the file by hand (recado api GET /v1/config)");
    }
    if differences.changes.is_empty() {
        println!("{shown} says what is stored.");
        return Ok(());
    }
    let mut text = fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    for change in &differences.changes {
        let name = name_entry(change.kind, &change.id);
        text = change_fields(&text, change.table, &change.id, &change.fields)
            .with_context(|| format!("{name} cannot be written back"))?;
        let fields: Vec<&str> = change.fields.keys().map(String::as_str).collect();
        println!("{name}: {}", fields.join(", "));
    }
    let written = parse_configuration(&text).context("the file would not be a configuration any more")?;
    if !compare_documents(&written, &stored).changes.is_empty() {
        bail!(
            "{shown} cannot be changed by a program: write these entries by hand (recado api GET /v1/config)"
        );
    }
    if dry_run {
        return Ok(());
    }
    let mut before = path.as_os_str().to_owned();
    before.push(".old");
    fs::copy(path, &before).with_context(|| format!("cannot keep {shown} as it was"))?;
    fs::write(path, text).with_context(|| format!("cannot write {shown}"))?;
    println!("Wrote {shown}; before: {}", Path::new(&before).display());
    Ok(())
}

/// Compares what a file says with what is stored.
fn compare_documents(file: &ConfigDocument, stored: &ConfigDocument) -> Differences {
    let mut all = Differences::default();
    compare_entries::<Tenant>("tenants", file, stored, &mut all);
    compare_entries::<Calendar>("calendars", file, stored, &mut all);
    compare_entries::<Tool>("tools", file, stored, &mut all);
    compare_entries::<Agent>("agents", file, stored, &mut all);
    compare_entries::<Instance>("instances", file, stored, &mut all);
    if file.alerts.is_some() && file.alerts != stored.alerts {
        all.left.push("the alerts");
    }
    if file.prices.is_some() && file.prices != stored.prices {
        all.left.push("the prices");
    }
    all
}

fn compare_entries<T: ConfigEntry>(
    table: &'static str,
    file: &ConfigDocument,
    stored: &ConfigDocument,
    into: &mut Differences,
) {
    let known: BTreeMap<&str, &T> = T::list_of(stored)
        .iter()
        .map(|entry| (entry.entry_id(), entry))
        .collect();
    for written in T::list_of(file) {
        let id = written.entry_id();
        let Some(now) = known.get(id) else {
            into.gone.push(name_entry(T::KIND, id));
            continue;
        };
        let (before, mut after) = (list_fields(written), list_fields(*now));
        // A file that does not name them leaves the endpoints as they are.
        if !before.contains_key("webhooks") {
            after.remove("webhooks");
        }
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let differing = names
            .into_iter()
            .filter(|name| before.get(*name) != after.get(*name));
        let fields: BTreeMap<String, Option<Value>> = differing
            .map(|name| (name.clone(), after.get(name).cloned()))
            .collect();
        if !fields.is_empty() {
            into.changes.push(StoredChange {
                table,
                kind: T::KIND,
                id: id.to_owned(),
                fields,
            });
        }
    }
}

/// Lists the fields of an entry that a document can say.
fn list_fields<T: ConfigEntry>(entry: &T) -> Map<String, Value> {
    let mut fields = match serde_json::to_value(entry) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.retain(|name, value| !value.is_null() && !FIELDS_OF_NO_DOCUMENT.contains(&name.as_str()));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(agent: &Value) -> ConfigDocument {
        serde_json::from_value(json!({"tenants": [{"id": "clinic"}], "agents": [agent]})).unwrap()
    }

    #[test]
    fn what_is_stored_otherwise_is_found_by_field() {
        let file = document(&json!({"id": "ana", "tenant": "clinic", "model": "m", "system_prompt": "a"}));
        assert_eq!(compare_documents(&file, &file), Differences::default());
        let stored = document(
            &json!({"id": "ana", "tenant": "clinic", "model": "m", "system_prompt": "b", "max_tokens": 5}),
        );
        let found = compare_documents(&file, &stored);
        assert_eq!(found.changes.len(), 1);
        let change = &found.changes[0];
        assert_eq!((change.table, change.id.as_str()), ("agents", "ana"));
        assert_eq!(change.fields["system_prompt"], Some(json!("b")));
        assert_eq!(change.fields["max_tokens"], Some(json!(5)));
        assert_eq!(change.fields.len(), 2);
        let back = compare_documents(&stored, &file);
        assert!(back.changes[0].fields.contains_key("max_tokens"));
        let gone = compare_documents(&file, &ConfigDocument::default()).gone;
        assert_eq!(gone, ["tenant clinic", "agent ana"]);
    }
}
