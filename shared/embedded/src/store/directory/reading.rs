//! Reads the configuration of a tenant, of all, and single entries by their names.

use crate::db_error::DbError;
use crate::sql_records::{keep_readable, query_all, query_one, query_readable};
use crate::store::installation_values::select_installation_value;
use recado_domain::config::{Agent, AlertConfig, Calendar, ConfigDocument, ConfigNames, Instance, Tenant};
use recado_domain::ids::{CalendarId, TenantId, ToolId};
use recado_domain::price::PriceList;
use recado_domain::tools::Tool;
use recado_ports::unreadable_record::UNREADABLE_INSTANCE;
use rusqlite::{Connection, Params};
use std::collections::BTreeMap;

/// The name of the configuration of alerts in the table `installation`.
pub(in crate::store) const ALERT_CONFIG: &str = "alerts";

/// The name of the prices in the table `installation`.
pub(in crate::store) const PRICES: &str = "prices";

/// Returns the configuration of alerts; `None` if none was applied.
fn select_alert_config(connection: &Connection) -> Result<Option<AlertConfig>, DbError> {
    select_installation_value(connection, ALERT_CONFIG)
}

/// Returns the prices of models; `None` if none were applied.
fn select_prices(connection: &Connection) -> Result<Option<PriceList>, DbError> {
    select_installation_value(connection, PRICES)
}

pub(super) fn select_configuration(
    connection: &Connection,
    tenant: Option<&TenantId>,
) -> Result<ConfigDocument, DbError> {
    let Some(tenant) = tenant else {
        return Ok(ConfigDocument {
            tenants: query_all(connection, "SELECT body FROM tenants ORDER BY id", [])?,
            calendars: query_all(connection, "SELECT body FROM calendars ORDER BY id", [])?,
            tools: query_all(connection, "SELECT body FROM tools ORDER BY id", [])?,
            agents: query_all(connection, "SELECT body FROM agents ORDER BY id", [])?,
            instances: query_all(connection, "SELECT body FROM instances ORDER BY id", [])?,
            alerts: select_alert_config(connection)?,
            prices: select_prices(connection)?,
            ..ConfigDocument::default()
        });
    };
    let tenant = [tenant.as_str()];
    let calendars = "SELECT body FROM calendars WHERE tenant = ?1 ORDER BY id";
    let tools = "SELECT body FROM tools WHERE tenant = ?1 ORDER BY id";
    let agents = "SELECT body FROM agents WHERE tenant = ?1 ORDER BY id";
    let instances = "SELECT body FROM instances WHERE tenant = ?1 ORDER BY id";
    Ok(ConfigDocument {
        tenants: query_all(connection, "SELECT body FROM tenants WHERE id = ?1", tenant)?,
        calendars: query_all(connection, calendars, tenant)?,
        tools: query_all(connection, tools, tenant)?,
        agents: query_all(connection, agents, tenant)?,
        instances: query_all(connection, instances, tenant)?,
        // Alerts and prices are the installation's.
        alerts: None,
        ..ConfigDocument::default()
    })
}

/// Returns the entries that `names` names, each once, in the order of their ids. One that cannot be read is passed over, so that it
/// can be written anew.
pub(super) fn select_named(connection: &Connection, names: &ConfigNames) -> Result<ConfigDocument, DbError> {
    let mut tenants: BTreeMap<String, Tenant> = BTreeMap::new();
    let mut agents: BTreeMap<String, Agent> = BTreeMap::new();
    let mut instances: BTreeMap<String, Instance> = BTreeMap::new();
    let mut select_tenants = |sql: &str, name: &str| -> Result<(), DbError> {
        let found = query_all(connection, sql, [name])?;
        tenants.extend(
            found
                .into_iter()
                .map(|found: Tenant| (found.id.to_string(), found)),
        );
        Ok(())
    };
    for id in &names.tenants {
        select_tenants("SELECT body FROM tenants WHERE id = ?1", id.as_str())?;
    }
    for part in &names.variable_parts {
        select_tenants("SELECT body FROM tenants WHERE variable_part = ?1", part)?;
    }
    let mut tools: BTreeMap<String, Tool> = BTreeMap::new();
    for id in &names.tools {
        let found = select_tool(connection, id)?;
        tools.extend(found.map(|found| (found.id.to_string(), found)));
    }
    let mut calendars: BTreeMap<String, Calendar> = BTreeMap::new();
    for id in &names.calendars {
        let found = select_calendar(connection, id)?;
        calendars.extend(found.map(|found| (found.id.to_string(), found)));
    }
    for id in &names.agents {
        let sql = "SELECT body FROM agents WHERE id = ?1";
        let found: Option<Agent> = query_readable(connection, sql, [id.as_str()])?;
        agents.extend(found.map(|found| (found.id.to_string(), found)));
    }
    for id in &names.instances {
        let sql = "SELECT body FROM instances WHERE id = ?1";
        let found = select_instance(connection, sql, [id.as_str()])?;
        instances.extend(found.map(|found| (found.id.to_string(), found)));
    }
    for (provider, external) in &names.externals {
        let sql = "SELECT body FROM instances WHERE provider = ?1 AND external = ?2";
        let found = select_instance(connection, sql, [provider.as_str(), external.as_str()])?;
        instances.extend(found.map(|found| (found.id.to_string(), found)));
    }
    Ok(ConfigDocument {
        tenants: tenants.into_values().collect(),
        calendars: calendars.into_values().collect(),
        tools: tools.into_values().collect(),
        agents: agents.into_values().collect(),
        instances: instances.into_values().collect(),
        alerts: select_if(names.alerts, || select_alert_config(connection))?,
        prices: select_if(names.prices, || select_prices(connection))?,
        ..ConfigDocument::default()
    })
}

/// Returns what `select` finds if it is `named`.
fn select_if<T>(
    named: bool,
    select: impl FnOnce() -> Result<Option<T>, DbError>,
) -> Result<Option<T>, DbError> {
    if named { select() } else { Ok(None) }
}

/// Returns the instance that the query finds; `None` also for one that cannot be read, which is told.
fn select_instance(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<Option<Instance>, DbError> {
    let found = query_one(connection, sql, params);
    if found.as_ref().is_err_and(DbError::is_of_one_row) {
        tracing::error!("{UNREADABLE_INSTANCE}");
    }
    Ok(keep_readable("instances", found)?.flatten())
}

/// Returns a tool. An agent answers without one that cannot be read, as if there were none.
fn select_tool(connection: &Connection, id: &ToolId) -> Result<Option<Tool>, DbError> {
    query_readable(connection, "SELECT body FROM tools WHERE id = ?1", [id.as_str()])
}

fn select_calendar(connection: &Connection, id: &CalendarId) -> Result<Option<Calendar>, DbError> {
    query_readable(
        connection,
        "SELECT body FROM calendars WHERE id = ?1",
        [id.as_str()],
    )
}

/// Returns the tools that an agent names, as the functions that its model may call.
pub(super) fn select_functions(
    connection: &Connection,
    tenant: &Tenant,
    agent: &Agent,
) -> Result<Vec<Tool>, DbError> {
    let mut functions = Vec::with_capacity(agent.tools.len());
    for id in &agent.tools {
        let Some(tool) = select_tool(connection, id)? else {
            continue;
        };
        let calendar = match &tool.calendar {
            Some(named) => select_calendar(connection, named)?,
            None => None,
        };
        functions.extend(tool.into_functions(calendar.as_slice(), tenant));
    }
    Ok(functions)
}
