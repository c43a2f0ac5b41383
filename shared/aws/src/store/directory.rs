mod functions;
mod records;

use super::DynamoStore;
use super::configuration_writes::{self, EntryWrite, StoredMarks};
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::{self, ConfigurationKind, TableKey};
use super::prices::add_installation_entry;
use super::table::RecordQuery;
use crate::cache::CacheLookup;
use futures::future::{try_join, try_join5};
use recado_domain::config::{
    Agent, Calendar, ConfigDocument, ConfigEntry, ConfigNames, ConfigRemoval, Instance, InstanceConfig,
    Tenant,
};
use recado_domain::ids::{ExternalId, InstanceId, TenantId};
use recado_domain::knowledge::AgentKnowledge;
use recado_domain::provider::Provider;
use recado_domain::tools::Tool;
use recado_ports::ports::{
    ConfigurationStore, Page, PageRequest, PortError, PortResult, System, WriteOutcome,
};
use recado_ports::table::{Key, Record};
use recado_ports::unreadable_record::UNREADABLE_INSTANCE;
pub(super) use records::find_kind;
use records::{add_entry, find_snapshot_name, list_named_keys, sort_entries};
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::sync::Arc;

impl<A: System> DynamoStore<A> {
    /// Reads all records of a kind, sorted by id.
    async fn read_kind<T: DeserializeOwned>(&self, kind: ConfigurationKind) -> PortResult<Vec<T>> {
        const WHAT: &str = "reading the configuration";
        let query = RecordQuery {
            index: None,
            keys: Expression::new("#pk = :pk").with_text(":pk", kind.partition_key()),
            filter: None,
            reverse: false,
            limit: None,
        };
        let found = self.table.query_records(WHAT, &query).await?;
        Ok(item::decode_readable(WHAT, &found))
    }

    /// Reads a tenant with its calendars, tools, agents and instances, by one query.
    async fn read_tenant_entries(&self, tenant: &TenantId) -> PortResult<ConfigDocument> {
        const WHAT: &str = "reading a tenant's configuration";
        let query = RecordQuery {
            index: None,
            keys: Expression::new("#pk = :pk").with_text(":pk", keys::tenant_entries_pk(tenant)),
            filter: None,
            reverse: false,
            limit: None,
        };
        let mut document = ConfigDocument::default();
        for item in self.table.query_records(WHAT, &query).await? {
            item::keep_readable(add_entry(WHAT, &item, &mut document));
        }
        Ok(document)
    }

    /// Reads a page of the entries of a kind, of one tenant or of all. The cursor is the id of the last entry before it.
    async fn list_kind<T: ConfigEntry>(
        &self,
        kind: ConfigurationKind,
        tenant: Option<&TenantId>,
        page: &PageRequest,
    ) -> PortResult<Page<T>> {
        const WHAT: &str = "listing the configuration";
        let (pk, prefix) = match tenant {
            None => (kind.partition_key().to_owned(), ""),
            Some(tenant) => (keys::tenant_entries_pk(tenant), kind.sort_prefix()),
        };
        // The first text after the cursor, and a text after every id.
        let after = page.cursor.as_deref().unwrap_or_default();
        let (from, upto) = (format!("{prefix}{after}\u{0}"), format!("{prefix}\u{10FFFF}"));
        let limit = page.limit.max(1);
        let query = RecordQuery {
            index: None,
            keys: Expression::new("#pk = :pk AND #sk BETWEEN :from AND :upto")
                .with_text(":pk", pk)
                .with_text(":from", from)
                .with_text(":upto", upto),
            filter: None,
            reverse: false,
            limit: Some(limit.saturating_add(1)),
        };
        let mut found = self.table.query_records(WHAT, &query).await?;
        let more = found.len() > limit;
        found.truncate(limit);
        let items: Vec<T> = item::decode_readable(WHAT, &found);
        let last = items.last().filter(|_| more);
        let next_cursor = last.map(|last| last.entry_id().to_owned());
        Ok(Page { items, next_cursor })
    }

    /// Reads the entries with these names by their keys, and their marks.
    async fn read_names(&self, names: &ConfigNames) -> PortResult<(ConfigDocument, StoredMarks)> {
        const WHAT: &str = "reading configuration";
        let mut document = ConfigDocument::default();
        let mut marks = StoredMarks::new();
        let mut seen = BTreeSet::new();
        let mut found = self.table.get_records(WHAT, list_named_keys(names), true).await?;
        for part in &names.variable_parts {
            let prefix = keys::variable_sk_prefix(part);
            let read = self.table.query_partition(WHAT, keys::VARIABLES, Some(&prefix));
            found.extend(read.await?);
        }
        for item in &found {
            marks.extend(configuration_writes::read_marks(item));
            // One that cannot be read is passed over, so that it can be written anew.
            if item::keep_readable(add_installation_entry(WHAT, item, &mut document)) != Some(false) {
                continue;
            }
            // An instance may be found by its id and by its provider's name.
            let kind = find_kind(item).map(ConfigurationKind::partition_key);
            if seen.insert((kind, item::get_string(item, "id").map(str::to_owned))) {
                let read = item::keep_readable(add_entry(WHAT, item, &mut document));
                if read.is_none() && kind == Some(ConfigurationKind::Instance.partition_key()) {
                    tracing::error!("{UNREADABLE_INSTANCE}");
                }
            }
        }
        sort_entries(&mut document);
        Ok((document, marks))
    }

    /// Writes what does not depend on the entries that it replaces, in as few transactions as possible. Fails if what a
    /// change refers to was removed meanwhile, or what is removed is referred to.
    async fn write_configuration(
        &self,
        what: &'static str,
        change: &ConfigDocument,
        removal: &ConfigRemoval,
    ) -> PortResult<()> {
        let names = ConfigNames::of_written(change, removal);
        let (before, marks) = self.read_names(&names).await?;
        if self.is_removal_needed(&before, change, removal).await? {
            return Err(PortError::contended(what));
        }
        let stamp = self.make_stamp();
        let write = EntryWrite {
            what,
            before: &before,
            marks: &marks,
            conditional: false,
            stamp: &stamp,
        };
        let parts = configuration_writes::configuration_actions(write, change)?;
        for transaction in configuration_writes::split_transactions(parts) {
            if self.table.run_transaction(what, transaction).await?.is_err() {
                self.forget_configuration();
                return Err(PortError::contended(what));
            }
        }
        self.forget_configuration();
        Ok(())
    }

    /// Returns `true` if an entry that stays refers to one that `removal` names. `before` has these as they are stored: what
    /// refers to them later changes their marks.
    async fn is_removal_needed(
        &self,
        before: &ConfigDocument,
        change: &ConfigDocument,
        removal: &ConfigRemoval,
    ) -> PortResult<bool> {
        let of_agents = before
            .agents
            .iter()
            .filter(|agent| removal.agents.contains(&agent.id));
        let mut tenants: BTreeSet<TenantId> = of_agents.map(|agent| agent.tenant.clone()).collect();
        let of_tools = before
            .tools
            .iter()
            .filter(|tool| removal.tools.contains(&tool.id));
        tenants.extend(of_tools.map(|tool| tool.tenant.clone()));
        let of_calendars = before
            .calendars
            .iter()
            .filter(|calendar| removal.calendars.contains(&calendar.id));
        tenants.extend(of_calendars.map(|calendar| calendar.tenant.clone()));
        tenants.extend(removal.tenants.iter().cloned());
        for tenant in &tenants {
            let entries = self.read_tenant_entries(tenant).await?;
            if entries.refers_to_removed(removal, change) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes the text by which a write marks what it refers to.
    fn make_stamp(&self) -> String {
        format!("{:016x}", self.table.system.random_u64())
    }

    pub(super) fn forget_configuration(&self) {
        self.by_external.clear();
        self.by_id.clear();
    }

    /// Adds its tenant, its agent and the agent's tools to an instance. `None` if there is no instance. An instance whose
    /// tenant or agent is missing is an error that may pass, since these are written before the instance.
    async fn assemble_instance_config(
        &self,
        what: &'static str,
        found: Option<Item>,
    ) -> PortResult<Option<Arc<InstanceConfig>>> {
        let Some(found) = found else { return Ok(None) };
        let instance: Instance = item::decode_record(what, &found)?;
        let (tenant, agent) = (Some(&instance.tenant), instance.agent.as_str());
        let knowledge = TableKey::for_table_item(&Key::new(AgentKnowledge::KIND, tenant, agent));
        let keys = vec![
            TableKey::for_configured(ConfigurationKind::Tenant, instance.tenant.as_str()),
            TableKey::for_configured(ConfigurationKind::Agent, instance.agent.as_str()),
            knowledge.clone(),
        ];
        let found = self.table.get_records(what, keys, false).await?;
        let of = |kind: ConfigurationKind| {
            found
                .iter()
                .find(|item| item::get_string(item, "pk") == Some(kind.partition_key()))
        };
        let (Some(tenant), Some(agent)) = (of(ConfigurationKind::Tenant), of(ConfigurationKind::Agent))
        else {
            return Err(PortError::unavailable(
                what,
                "the instance's tenant or agent is not there yet",
            ));
        };
        let agent: Agent = item::decode_record(what, agent)?;
        let tenant: Tenant = item::decode_record(what, tenant)?;
        Ok(Some(Arc::new(InstanceConfig {
            tools: self.read_functions_of(what, &tenant, &agent).await?,
            tenant,
            agent,
            knowledge: find_snapshot_name(&knowledge, &found),
            instance,
        })))
    }
}

impl<A: System> ConfigurationStore for DynamoStore<A> {
    async fn read_configuration(&self, tenant: Option<&TenantId>) -> PortResult<ConfigDocument> {
        if let Some(tenant) = tenant {
            return self.read_tenant_entries(tenant).await;
        }
        let all = try_join5(
            try_join(
                self.read_kind(ConfigurationKind::Tenant),
                self.read_kind(ConfigurationKind::Calendar),
            ),
            self.read_kind(ConfigurationKind::Tool),
            self.read_kind(ConfigurationKind::Agent),
            self.read_kind(ConfigurationKind::Instance),
            self.find_installation_entries(),
        );
        let ((tenants, calendars), tools, agents, instances, (alerts, prices)) = Box::pin(all).await?;
        Ok(ConfigDocument {
            tenants,
            calendars,
            tools,
            agents,
            instances,
            alerts,
            prices,
            ..ConfigDocument::default()
        })
    }

    async fn read_named(&self, names: &ConfigNames) -> PortResult<ConfigDocument> {
        Ok(self.read_names(names).await?.0)
    }

    async fn list_tenants(&self, page: &PageRequest) -> PortResult<Page<Tenant>> {
        self.list_kind(ConfigurationKind::Tenant, None, page).await
    }

    async fn list_agents(&self, tenant: Option<&TenantId>, page: &PageRequest) -> PortResult<Page<Agent>> {
        self.list_kind(ConfigurationKind::Agent, tenant, page).await
    }

    async fn list_calendars(
        &self,
        tenant: Option<&TenantId>,
        page: &PageRequest,
    ) -> PortResult<Page<Calendar>> {
        self.list_kind(ConfigurationKind::Calendar, tenant, page).await
    }

    async fn list_tools(&self, tenant: Option<&TenantId>, page: &PageRequest) -> PortResult<Page<Tool>> {
        self.list_kind(ConfigurationKind::Tool, tenant, page).await
    }

    async fn list_instances(
        &self,
        tenant: Option<&TenantId>,
        page: &PageRequest,
    ) -> PortResult<Page<Instance>> {
        self.list_kind(ConfigurationKind::Instance, tenant, page).await
    }

    async fn replace_configuration(
        &self,
        change: &ConfigDocument,
        removal: &ConfigRemoval,
        known: &ConfigDocument,
    ) -> PortResult<WriteOutcome> {
        const WHAT: &str = "replacing configuration";
        let names = ConfigNames::of_written(change, removal);
        let (before, marks) = self.read_names(&names).await?;
        if !before.agrees_about(known, &names) || self.is_removal_needed(&before, change, removal).await? {
            return Ok(WriteOutcome::Conflict);
        }
        let stamp = self.make_stamp();
        let write = EntryWrite {
            what: WHAT,
            before: &before,
            marks: &marks,
            conditional: true,
            stamp: &stamp,
        };
        let parts = configuration_writes::configuration_actions(write, change)?;
        let mut transactions = configuration_writes::split_transactions(parts);
        if transactions.len() > 1 {
            return Err(PortError::invalid(WHAT, "too many entries"));
        }
        let Some(transaction) = transactions.pop() else {
            return Ok(WriteOutcome::Written);
        };
        let written = self.table.run_transaction(WHAT, transaction).await?;
        self.forget_configuration();
        if written.is_ok() {
            return Ok(WriteOutcome::Written);
        }
        // A transaction that the client library repeated is refused because of its own effect.
        let (after, _) = self.read_names(&names).await?;
        Ok(if after.agrees_about(change, &names) {
            WriteOutcome::Written
        } else {
            WriteOutcome::Conflict
        })
    }

    async fn apply_configuration(&self, change: &ConfigDocument) -> PortResult<()> {
        self.write_configuration("applying a configuration", change, &ConfigRemoval::default())
            .await
    }

    async fn remove_configuration(&self, removal: &ConfigRemoval) -> PortResult<()> {
        self.write_configuration("removing configuration", &ConfigDocument::default(), removal)
            .await
    }

    async fn find_instance_config(
        &self,
        provider: Provider,
        external: &ExternalId,
    ) -> PortResult<Option<Arc<InstanceConfig>>> {
        const WHAT: &str = "looking an instance up";
        let key = (provider, external.clone());
        if let CacheLookup::Hit(known) = self.by_external.get(&key, self.table.system.now()) {
            return Ok(known);
        }
        let found = self
            .table
            .get_record(WHAT, TableKey::for_external_id(provider, external))
            .await?;
        let bound = self.assemble_instance_config(WHAT, found).await?;
        self.by_external
            .insert_entry(key, bound.clone(), self.table.system.now());
        Ok(bound)
    }

    async fn instance_config(&self, id: &InstanceId) -> PortResult<Option<Arc<InstanceConfig>>> {
        const WHAT: &str = "reading an instance's configuration";
        if let CacheLookup::Hit(known) = self.by_id.get(id, self.table.system.now()) {
            return Ok(known);
        }
        let found = self
            .table
            .get_record(
                WHAT,
                TableKey::for_configured(ConfigurationKind::Instance, id.as_str()),
            )
            .await?;
        let bound = self.assemble_instance_config(WHAT, found).await?;
        self.by_id
            .insert_entry(id.clone(), bound.clone(), self.table.system.now());
        Ok(bound)
    }
}
