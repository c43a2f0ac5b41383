mod reading;

use super::installation_values::write_installation_value;
use crate::Embedded;
use crate::config_cache::InstanceName;
use crate::db_error::DbError;
use crate::sql_records::{
    decode_json, encode_json, execute_sql, keep_readable, make_page, query_found, read_lossy_text,
    to_sql_limit,
};
pub(super) use reading::{ALERT_CONFIG, PRICES};
use reading::{select_configuration, select_functions, select_named};
use recado_domain::config::{
    Agent, Calendar, ConfigDocument, ConfigEntry, ConfigNames, ConfigRemoval, Instance, InstanceConfig,
    Tenant,
};
use recado_domain::ids::{ExternalId, InstanceId, TenantId};
use recado_domain::knowledge::AgentKnowledge;
use recado_domain::provider::Provider;
use recado_domain::tools::Tool;
use recado_ports::ports::{ConfigurationStore, Page, PageRequest, PortResult, WriteOutcome};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::sync::Arc;

/// Returns a page of the entries in `table`, of one tenant or of all. The cursor is the id of the last entry before it.
fn select_entries<T: ConfigEntry>(
    connection: &Connection,
    table: &str,
    tenant: Option<&TenantId>,
    page: &PageRequest,
) -> Result<Page<T>, DbError> {
    let after = page.cursor.as_deref().unwrap_or_default();
    let limit = page.limit.max(1);
    let most = to_sql_limit(limit.saturating_add(1));
    let items = match tenant {
        None => {
            let sql = format!("SELECT body FROM {table} WHERE id > ?1 ORDER BY id LIMIT ?2");
            query_found(connection, &sql, params![after, most])?
        }
        Some(tenant) => {
            let sql = format!("SELECT body FROM {table} WHERE tenant = ?1 AND id > ?2 ORDER BY id LIMIT ?3");
            query_found(connection, &sql, params![tenant.as_str(), after, most])?
        }
    };
    Ok(make_page(items, limit, |last: &T| last.entry_id().to_owned()))
}

/// Writes and removes entries, unless one of them is no longer as `known` has it.
fn replace_entries(
    connection: &Connection,
    change: &ConfigDocument,
    removal: &ConfigRemoval,
    known: &ConfigDocument,
) -> Result<WriteOutcome, DbError> {
    let names = ConfigNames::of_written(change, removal);
    if !select_named(connection, &names)?.agrees_about(known, &names)
        || breaks_references(connection, change, removal)?
    {
        return Ok(WriteOutcome::Conflict);
    }
    delete_entries(connection, removal)?;
    apply_document(connection, change)?;
    Ok(WriteOutcome::Written)
}

/// Returns `true` if the change refers to what is not there, or what stays to what is removed.
fn breaks_references(
    connection: &Connection,
    change: &ConfigDocument,
    removal: &ConfigRemoval,
) -> Result<bool, DbError> {
    let referred = select_named(connection, &ConfigNames::of_referred(change))?;
    if !referred.holds_references_of(change) {
        return Ok(true);
    }
    let removed = ConfigNames {
        calendars: removal.calendars.iter().cloned().collect(),
        tools: removal.tools.iter().cloned().collect(),
        agents: removal.agents.iter().cloned().collect(),
        ..ConfigNames::default()
    };
    let mut tenants = select_named(connection, &removed)?.list_owners();
    tenants.extend(removal.tenants.iter().cloned());
    for tenant in &tenants {
        if select_configuration(connection, Some(tenant))?.refers_to_removed(removal, change) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes and removes entries whatever is stored of them, unless that breaks references.
fn write_entries(
    connection: &Connection,
    change: &ConfigDocument,
    removal: &ConfigRemoval,
) -> Result<(), DbError> {
    if breaks_references(connection, change, removal)? {
        return Err(DbError::References);
    }
    delete_entries(connection, removal)?;
    apply_document(connection, change)
}

pub(super) fn apply_document(connection: &Connection, change: &ConfigDocument) -> Result<(), DbError> {
    for tenant in &change.tenants {
        let sql = "INSERT OR REPLACE INTO tenants (id, variable_part, body) VALUES (?1, ?2, ?3)";
        let values = params![
            tenant.id.as_str(),
            tenant.id.variable_part(),
            encode_json(tenant)?
        ];
        execute_sql(connection, sql, values)?;
    }
    for calendar in &change.calendars {
        let sql = "INSERT OR REPLACE INTO calendars (id, tenant, body) VALUES (?1, ?2, ?3)";
        let values = params![
            calendar.id.as_str(),
            calendar.tenant.as_str(),
            encode_json(calendar)?
        ];
        execute_sql(connection, sql, values)?;
    }
    for tool in &change.tools {
        let sql = "INSERT OR REPLACE INTO tools (id, tenant, body) VALUES (?1, ?2, ?3)";
        let values = params![tool.id.as_str(), tool.tenant.as_str(), encode_json(tool)?];
        execute_sql(connection, sql, values)?;
    }
    for agent in &change.agents {
        let sql = "INSERT OR REPLACE INTO agents (id, tenant, body) VALUES (?1, ?2, ?3)";
        let values = params![agent.id.as_str(), agent.tenant.as_str(), encode_json(agent)?];
        execute_sql(connection, sql, values)?;
    }
    if let Some(alerts) = &change.alerts {
        write_installation_value(connection, ALERT_CONFIG, &encode_json(alerts)?)?;
    }
    if let Some(prices) = &change.prices {
        write_installation_value(connection, reading::PRICES, &encode_json(prices)?)?;
    }
    // All of them are deleted first: two instances may swap their numbers in one change.
    for instance in &change.instances {
        execute_sql(
            connection,
            "DELETE FROM instances WHERE id = ?1",
            [instance.id.as_str()],
        )?;
    }
    for instance in &change.instances {
        insert_instance(connection, instance)?;
    }
    Ok(())
}

fn delete_entries(connection: &Connection, removal: &ConfigRemoval) -> Result<(), DbError> {
    for id in &removal.instances {
        execute_sql(connection, "DELETE FROM instances WHERE id = ?1", [id.as_str()])?;
    }
    for id in &removal.agents {
        execute_sql(connection, "DELETE FROM agents WHERE id = ?1", [id.as_str()])?;
    }
    for id in &removal.tools {
        execute_sql(connection, "DELETE FROM tools WHERE id = ?1", [id.as_str()])?;
    }
    for id in &removal.calendars {
        execute_sql(connection, "DELETE FROM calendars WHERE id = ?1", [id.as_str()])?;
    }
    for id in &removal.tenants {
        execute_sql(connection, "DELETE FROM tenants WHERE id = ?1", [id.as_str()])?;
    }
    Ok(())
}

/// Inserts an instance. Fails if another instance has the same name at the same provider; the caller should have
/// noticed that.
fn insert_instance(connection: &Connection, instance: &Instance) -> Result<(), DbError> {
    let sql =
        "INSERT INTO instances (id, provider, external, tenant, agent, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let external = instance.resolve_external_id();
    let values = params![
        instance.id.as_str(),
        instance.provider.as_str(),
        external.as_ref().map(ExternalId::as_str),
        instance.tenant.as_str(),
        instance.agent.as_str(),
        encode_json(instance)?,
    ];
    execute_sql(connection, sql, values)?;
    Ok(())
}

const SELECT_INSTANCE_CONFIG: &str = "SELECT i.body, t.body, a.body, k.body FROM instances i
    JOIN tenants t ON t.id = i.tenant JOIN agents a ON a.id = i.agent
    LEFT JOIN records k ON k.partition = 'knowledge#' || i.tenant AND k.sort = i.agent WHERE";

fn select_instance_config(
    connection: &Connection,
    name: &InstanceName,
) -> Result<Option<InstanceConfig>, DbError> {
    let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, read_lossy_text(row, 3)?));
    let found: Option<(String, String, String, Option<String>)> = match name {
        InstanceName::Id(id) => connection
            .prepare_cached(&format!("{SELECT_INSTANCE_CONFIG} i.id = ?1"))?
            .query_row([id.as_str()], row),
        InstanceName::External(provider, external) => connection
            .prepare_cached(&format!(
                "{SELECT_INSTANCE_CONFIG} i.provider = ?1 AND i.external = ?2"
            ))?
            .query_row([provider.as_str(), external.as_str()], row),
    }
    .optional()?;
    let Some((instance, tenant, agent, knowledge)) = found else {
        return Ok(None);
    };
    let agent: Agent = decode_json(&agent)?;
    let tenant: Tenant = decode_json(&tenant)?;
    let tools = select_functions(connection, &tenant, &agent)?;
    let knowledge = knowledge.as_deref().map(decode_json::<AgentKnowledge>);
    // Without a readable record the agent answers without knowledge, as if it had none.
    let knowledge = keep_readable("knowledge", knowledge.transpose())?.flatten();
    Ok(Some(InstanceConfig {
        instance: decode_json(&instance)?,
        tenant,
        agent,
        tools,
        knowledge: knowledge.and_then(|known| known.snapshot),
    }))
}

impl ConfigurationStore for Embedded {
    async fn read_configuration(&self, tenant: Option<&TenantId>) -> PortResult<ConfigDocument> {
        let tenant = tenant.cloned();
        self.run_read("configuration", move |c| select_configuration(c, tenant.as_ref()))
            .await
    }

    async fn read_named(&self, names: &ConfigNames) -> PortResult<ConfigDocument> {
        let names = names.clone();
        self.run_read("named_configuration", move |c| select_named(c, &names))
            .await
    }

    async fn list_tenants(&self, page: &PageRequest) -> PortResult<Page<Tenant>> {
        let page = page.clone();
        self.run_read("tenants", move |c| select_entries(c, "tenants", None, &page))
            .await
    }

    async fn list_agents(&self, tenant: Option<&TenantId>, page: &PageRequest) -> PortResult<Page<Agent>> {
        let (tenant, page) = (tenant.cloned(), page.clone());
        let work = move |c: &Connection| select_entries(c, "agents", tenant.as_ref(), &page);
        self.run_read("agents", work).await
    }

    async fn list_calendars(
        &self,
        tenant: Option<&TenantId>,
        page: &PageRequest,
    ) -> PortResult<Page<Calendar>> {
        let (tenant, page) = (tenant.cloned(), page.clone());
        let work = move |c: &Connection| select_entries(c, "calendars", tenant.as_ref(), &page);
        self.run_read("calendars", work).await
    }

    async fn list_tools(&self, tenant: Option<&TenantId>, page: &PageRequest) -> PortResult<Page<Tool>> {
        let (tenant, page) = (tenant.cloned(), page.clone());
        let work = move |c: &Connection| select_entries(c, "tools", tenant.as_ref(), &page);
        self.run_read("tools", work).await
    }

    async fn list_instances(
        &self,
        tenant: Option<&TenantId>,
        page: &PageRequest,
    ) -> PortResult<Page<Instance>> {
        let (tenant, page) = (tenant.cloned(), page.clone());
        let work = move |c: &Connection| select_entries(c, "instances", tenant.as_ref(), &page);
        self.run_read("instances", work).await
    }

    async fn replace_configuration(
        &self,
        change: &ConfigDocument,
        removal: &ConfigRemoval,
        known: &ConfigDocument,
    ) -> PortResult<WriteOutcome> {
        let (change, removal, known) = (change.clone(), removal.clone(), known.clone());
        let changing = self.config_cache().begin_config_change();
        self.run_write("replace_configuration", move |c| {
            let _held_until_committed = &changing;
            replace_entries(c, &change, &removal, &known)
        })
        .await
    }

    async fn apply_configuration(&self, change: &ConfigDocument) -> PortResult<()> {
        let (change, changing) = (change.clone(), self.config_cache().begin_config_change());
        self.run_write("apply", move |c| {
            let _held_until_committed = &changing;
            write_entries(c, &change, &ConfigRemoval::default())
        })
        .await
    }

    async fn remove_configuration(&self, removal: &ConfigRemoval) -> PortResult<()> {
        let (removal, changing) = (removal.clone(), self.config_cache().begin_config_change());
        self.run_write("remove_configuration", move |c| {
            let _held_until_committed = &changing;
            write_entries(c, &ConfigDocument::default(), &removal)
        })
        .await
    }

    async fn find_instance_config(
        &self,
        provider: Provider,
        external: &ExternalId,
    ) -> PortResult<Option<Arc<InstanceConfig>>> {
        self.read_instance_config(InstanceName::External(provider, external.clone()))
            .await
    }

    async fn instance_config(&self, id: &InstanceId) -> PortResult<Option<Arc<InstanceConfig>>> {
        self.read_instance_config(InstanceName::Id(id.clone())).await
    }
}

impl Embedded {
    /// Returns the configuration of an instance, as it was kept or as it is stored.
    async fn read_instance_config(&self, name: InstanceName) -> PortResult<Option<Arc<InstanceConfig>>> {
        let cache = self.config_cache();
        let changes = match cache.find_kept_config(&name) {
            Ok(config) => return Ok(Some(config)),
            Err(changes) => changes,
        };
        let asked = name.clone();
        let found = self
            .run_lookup("bound", move |c| select_instance_config(c, &asked))
            .await?;
        let found = found.map(Arc::new);
        if let Some(config) = &found {
            cache.keep_read_config(changes, name, Arc::clone(config));
        }
        Ok(found)
    }
}
