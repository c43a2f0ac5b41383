//! The records of entries: which entry one holds, and under which keys entries are read.

use crate::store::item::{self, Item};
use crate::store::keys::{self, ConfigurationKind, TableKey};
use crate::store::table_port::get_body;
use recado_domain::config::{ConfigDocument, ConfigNames};
use recado_domain::knowledge::{AgentKnowledge, SnapshotName};
use recado_ports::ports::{PortError, PortResult};
use recado_ports::table::Record;

/// Returns the kind of an entry, by the key of any of its records.
pub(in crate::store) fn find_kind(item: &Item) -> Option<ConfigurationKind> {
    use ConfigurationKind::{Agent, Calendar, Instance, Tenant, Tool};
    let (pk, sk) = (item::get_string(item, "pk")?, item::get_string(item, "sk")?);
    if pk == keys::VARIABLES {
        return Some(Tenant);
    }
    if pk.starts_with("G#X#") {
        return Some(Instance);
    }
    let fits = |kind: &ConfigurationKind| pk == kind.partition_key();
    let owned = |kind: &ConfigurationKind| pk.starts_with("G#C#") && sk.starts_with(kind.sort_prefix());
    [Tenant, Calendar, Tool, Agent, Instance]
        .into_iter()
        .find(|kind| fits(kind) || owned(kind))
}

/// Adds the entry of a record to the document.
pub(super) fn add_entry(what: &'static str, item: &Item, document: &mut ConfigDocument) -> PortResult<()> {
    match find_kind(item) {
        Some(ConfigurationKind::Tenant) => document.tenants.push(item::decode_record(what, item)?),
        Some(ConfigurationKind::Calendar) => document.calendars.push(item::decode_record(what, item)?),
        Some(ConfigurationKind::Tool) => document.tools.push(item::decode_record(what, item)?),
        Some(ConfigurationKind::Agent) => document.agents.push(item::decode_record(what, item)?),
        Some(ConfigurationKind::Instance) => document.instances.push(item::decode_record(what, item)?),
        None => return Err(PortError::invalid(what, "the record is no entry")),
    }
    Ok(())
}

/// Lists the keys under which named entries are read. Those of variables are queried.
pub(super) fn list_named_keys(names: &ConfigNames) -> Vec<TableKey> {
    let of = TableKey::for_configured;
    let tenants = names.tenants.iter();
    let tenants = tenants.map(|id| of(ConfigurationKind::Tenant, id.as_str()));
    let calendars = names.calendars.iter();
    let calendars = calendars.map(|id| of(ConfigurationKind::Calendar, id.as_str()));
    let tools = names.tools.iter();
    let tools = tools.map(|id| of(ConfigurationKind::Tool, id.as_str()));
    let agents = names.agents.iter();
    let agents = agents.map(|id| of(ConfigurationKind::Agent, id.as_str()));
    let instances = names.instances.iter();
    let instances = instances.map(|id| of(ConfigurationKind::Instance, id.as_str()));
    let externals = names.externals.iter();
    let externals = externals.map(|(provider, external)| TableKey::for_external_id(*provider, external));
    let alerts = names.alerts.then(TableKey::for_alert_config);
    let prices = names.prices.then(TableKey::for_prices);
    tenants
        .chain(calendars)
        .chain(tools)
        .chain(agents)
        .chain(instances)
        .chain(externals)
        .chain(alerts)
        .chain(prices)
        .collect()
}

/// Sorts the entries of each kind by their ids.
pub(super) fn sort_entries(document: &mut ConfigDocument) {
    document.tenants.sort_by(|a, b| a.id.cmp(&b.id));
    document.calendars.sort_by(|a, b| a.id.cmp(&b.id));
    document.tools.sort_by(|a, b| a.id.cmp(&b.id));
    document.agents.sort_by(|a, b| a.id.cmp(&b.id));
    document.instances.sort_by(|a, b| a.id.cmp(&b.id));
}

/// Finds, among the items of a configuration, the name of the present snapshot of the agent's knowledge.
pub(super) fn find_snapshot_name(place: &TableKey, found: &[Item]) -> Option<SnapshotName> {
    let is_there = |item: &&Item| TableKey::from_item(item).as_ref() == Some(place);
    let stored = found.iter().find(is_there)?;
    // Without a readable record the agent answers without knowledge, as if it had none.
    let body = get_body(AgentKnowledge::KIND, stored);
    let known = item::keep_readable(body.and_then(AgentKnowledge::from_body))?;
    known.snapshot
}
