//! Writes the configuration as records: one for each tenant, calendar, tool, agent and instance, and one of the alerts. Each entry has
//! further records under the other keys by which it is found ([`super::keys`]), so that each way to it is one read.

use super::expression::{Expression, UpdateChange};
use super::item::{self, Item};
use super::keys::{ConfigurationKind, TableKey};
use super::prices::PriceRecord;
use super::transaction::TransactionAction;
use recado_domain::config::{Agent, ConfigDocument, ConfigEntry, Instance};
use recado_domain::ids::{TenantId, ToolId, hash_parts};
use recado_domain::tools::Tool;
use recado_ports::ports::{PortError, PortResult};
use std::collections::{HashMap, HashSet};

/// The number of actions in one transaction at most.
pub(super) const ACTIONS_MAX: usize = 100;
/// The size of one transaction at most, in characters of its attributes (the limit of `DynamoDB` is 4 MB).
const SIZE_MAX: usize = 3_000_000;

/// The attribute that holds the hash of an entry, for the conditions of its next change.
const HASH: &str = "entry_hash";

/// The attribute that changes with each write of an entry that others refer to. It changes with each write of the entry that
/// refers, too. A removal is made on condition that it is as it was when nothing referred to the entry.
const TOUCHED: &str = "touched";

/// What the conditions of a write need to know of a stored entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryMarks {
    hash: String,
    touched: Option<String>,
}

/// The marks of entries as they are stored, by the keys under their ids.
pub(super) type StoredMarks = HashMap<TableKey, EntryMarks>;

/// Reads the marks of an entry's record.
pub(super) fn read_marks(found: &Item) -> Option<(TableKey, EntryMarks)> {
    let text = |name| item::get_string(found, name).map(str::to_owned);
    let (hash, touched) = (text(HASH)?, text(TOUCHED));
    Some((TableKey::from_item(found)?, EntryMarks { hash, touched }))
}

/// A write of the configuration: what is stored of its entries, and whether they must still be so.
#[derive(Clone, Copy)]
pub(super) struct EntryWrite<'a> {
    /// Name of the operation, for errors.
    pub(super) what: &'static str,
    /// The entries to change or remove, as they are stored now.
    pub(super) before: &'a ConfigDocument,
    pub(super) marks: &'a StoredMarks,
    /// `true`: nothing is written unless each entry is still as it was read.
    pub(super) conditional: bool,
    /// A random text of this write alone.
    pub(super) stamp: &'a str,
}

impl EntryWrite<'_> {
    /// Returns the condition that the entry under `key` is as it was read.
    fn unchanged_condition(&self, key: &TableKey) -> Option<Expression> {
        self.conditional.then(|| match self.marks.get(key) {
            Some(marks) => Expression::new(format!("#{HASH} = :hash")).with_text(":hash", &marks.hash),
            None => Expression::record_absent(),
        })
    }

    /// Returns the condition under which an entry is removed: nothing was written that refers to it since it was read.
    fn removal_condition(&self, key: &TableKey) -> Option<Expression> {
        let marks = self.marks.get(key)?;
        let untouched = match &marks.touched {
            Some(stamp) => Expression::new(format!("#{TOUCHED} = :touched")).with_text(":touched", stamp),
            None => Expression::new(format!("attribute_not_exists(#{TOUCHED})")),
        };
        Some(match self.unchanged_condition(key) {
            Some(unchanged) => unchanged.and_condition(untouched),
            None => untouched,
        })
    }

    /// Makes the writes of all records of one entry. The condition is that of the first, under its id.
    fn put_entry<T: ConfigEntry>(
        &self,
        entry: &T,
        keys: Vec<TableKey>,
    ) -> PortResult<Vec<TransactionAction>> {
        let text = serde_json::to_string(entry).map_err(|error| PortError::invalid(self.what, error))?;
        let mut record = item::encode_record(self.what, entry)?;
        record.insert(HASH.to_owned(), item::text_attribute(hash_parts(&[&text], 16)));
        let put = |(place, key): (usize, TableKey)| {
            let mut record = record.clone();
            let condition = self.unchanged_condition(&key).filter(|_| place == 0);
            if place == 0 && may_be_referred_to(&key) {
                record.insert(TOUCHED.to_owned(), item::text_attribute(self.stamp));
            }
            TransactionAction::Put(key.into_item(record), condition)
        };
        Ok(keys.into_iter().enumerate().map(put).collect())
    }

    /// Makes the write that touches the tenant to which an entry refers. The condition is that the tenant is there.
    fn touch_tenant(&self, tenant: &TenantId) -> TransactionAction {
        let key = TableKey::for_configured(ConfigurationKind::Tenant, tenant.as_str());
        self.touch(key, Expression::new("attribute_exists(#pk)"))
    }

    /// Makes the write that touches the agent of an instance. The condition is that the instance's tenant has the agent.
    fn touch_agent(&self, instance: &Instance) -> TransactionAction {
        let key = TableKey::for_configured(ConfigurationKind::Agent, instance.agent.as_str());
        let of_tenant = Expression::new("#tenant = :tenant").with_text(":tenant", instance.tenant.as_str());
        self.touch(key, of_tenant)
    }

    /// Makes the writes that touch the tools of an agent. The condition is that the agent's tenant has the tool.
    fn touch_tools<'b>(&'b self, agent: &'b Agent) -> impl Iterator<Item = TransactionAction> + 'b {
        agent.tools.iter().map(|tool: &ToolId| {
            let key = TableKey::for_configured(ConfigurationKind::Tool, tool.as_str());
            let of_tenant = Expression::new("#tenant = :tenant").with_text(":tenant", agent.tenant.as_str());
            self.touch(key, of_tenant)
        })
    }

    /// Makes the write that touches the calendar of a tool. The condition is that the tool's tenant has the calendar.
    fn touch_calendar(&self, tool: &Tool) -> Option<TransactionAction> {
        let key = TableKey::for_configured(ConfigurationKind::Calendar, tool.calendar.as_ref()?.as_str());
        let of_tenant = Expression::new("#tenant = :tenant").with_text(":tenant", tool.tenant.as_str());
        Some(self.touch(key, of_tenant))
    }

    fn touch(&self, key: TableKey, condition: Expression) -> TransactionAction {
        let change = UpdateChange::default().set_value(TOUCHED, item::text_attribute(self.stamp));
        TransactionAction::Update(key, change, Some(condition))
    }
}

/// Returns `true` if the key is that of a tenant, a calendar, a tool or an agent under its id.
fn may_be_referred_to(key: &TableKey) -> bool {
    [
        ConfigurationKind::Tenant,
        ConfigurationKind::Calendar,
        ConfigurationKind::Tool,
        ConfigurationKind::Agent,
    ]
    .iter()
    .any(|kind| key.pk == kind.partition_key())
}

/// Returns the writes that make `change` of what is stored, in the order in which they must be made: tenants, calendars, tools and agents
/// come before what refers to them, and go after them. Records under keys that the change does not have are deleted.
/// The writes of one part must be made together: each entry is written only while what it refers to is there.
pub(super) fn configuration_actions(
    write: EntryWrite<'_>,
    change: &ConfigDocument,
) -> PortResult<Vec<Vec<TransactionAction>>> {
    let mut parts = Vec::new();
    for tenant in &change.tenants {
        parts.push(write.put_entry(tenant, TableKey::for_tenant_records(tenant))?);
    }
    for calendar in &change.calendars {
        let mut part = write.put_entry(calendar, TableKey::for_calendar_records(calendar))?;
        part.push(write.touch_tenant(&calendar.tenant));
        parts.push(part);
    }
    for tool in &change.tools {
        let mut part = write.put_entry(tool, TableKey::for_tool_records(tool))?;
        part.push(write.touch_tenant(&tool.tenant));
        part.extend(write.touch_calendar(tool));
        parts.push(part);
    }
    for agent in &change.agents {
        let mut part = write.put_entry(agent, TableKey::for_agent_records(agent))?;
        part.push(write.touch_tenant(&agent.tenant));
        part.extend(write.touch_tools(agent));
        parts.push(part);
    }
    if let Some(alerts) = &change.alerts {
        let record = item::encode_record(write.what, alerts)?;
        let record = TableKey::for_alert_config().into_item(record);
        parts.push(vec![TransactionAction::Put(record, None)]);
    }
    if let Some(prices) = &change.prices {
        let record = item::encode_record(
            write.what,
            &PriceRecord {
                prices: prices.clone(),
            },
        )?;
        let record = TableKey::for_prices().into_item(record);
        parts.push(vec![TransactionAction::Put(record, None)]);
    }
    for instance in &change.instances {
        let mut part = write.put_entry(instance, TableKey::for_instance_records(instance))?;
        part.push(write.touch_tenant(&instance.tenant));
        part.push(write.touch_agent(instance));
        parts.push(part);
    }
    let kept: HashSet<TableKey> = list_keys(change).into_iter().collect();
    let gone = list_keys(write.before)
        .into_iter()
        .filter(|key| !kept.contains(key));
    parts.extend(gone.map(|key| {
        let condition = write.removal_condition(&key);
        vec![TransactionAction::Delete(key, condition)]
    }));
    Ok(parts)
}

/// Lists the keys of all records of a document's entries: instances first, which refer to the others.
fn list_keys(document: &ConfigDocument) -> Vec<TableKey> {
    let instances = document.instances.iter().flat_map(TableKey::for_instance_records);
    let agents = document.agents.iter().flat_map(TableKey::for_agent_records);
    let tools = document.tools.iter().flat_map(TableKey::for_tool_records);
    let calendars = document.calendars.iter().flat_map(TableKey::for_calendar_records);
    let tenants = document.tenants.iter().flat_map(TableKey::for_tenant_records);
    let referring = instances.chain(agents).chain(tools);
    referring.chain(calendars).chain(tenants).collect()
}

/// Splits the writes into as few transactions as possible. A document of usual size needs one. In a transaction that writes
/// an entry, or touches it already, touching it is left out: a transaction has one action for each record.
pub(super) fn split_transactions(parts: Vec<Vec<TransactionAction>>) -> Vec<Vec<TransactionAction>> {
    let mut transactions: Vec<Vec<TransactionAction>> = Vec::new();
    let (mut size, mut keys) = (0, HashSet::new());
    for part in parts {
        let more: usize = part.iter().map(estimate_size).sum();
        let fits = |last: &Vec<_>| last.len() + part.len() <= ACTIONS_MAX && size + more <= SIZE_MAX;
        if !transactions.last().is_some_and(fits) {
            (size, keys) = (0, HashSet::new());
            transactions.push(Vec::new());
        }
        size += more;
        let is_needed = |action: &TransactionAction| {
            let is_first = action.key().is_none_or(|key| keys.insert(key));
            is_first || !matches!(action, TransactionAction::Update(..))
        };
        let needed: Vec<_> = part.into_iter().filter(is_needed).collect();
        if let Some(last) = transactions.last_mut() {
            last.extend(needed);
        }
    }
    transactions
}

/// Estimates the size of an action, in characters. Only text can be long in a configuration.
fn estimate_size(action: &TransactionAction) -> usize {
    let texts = |item: &Item| {
        item.values()
            .map(|value| value.as_s().map_or(64, String::len))
            .sum()
    };
    match action {
        TransactionAction::Put(item, _) => texts(item),
        _ => 256,
    }
}

#[cfg(test)]
mod tests;
