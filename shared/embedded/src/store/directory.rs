use super::alerts::{ALERT_CONFIG, select_alert_config, write_installation_value};
use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{decode_json, encode_json, execute_sql, query_all};
use recado_domain::config::{ConfigDocument, ConfigRemoval, Instance, InstanceConfig};
use recado_domain::ids::{ExternalId, InstanceId, TenantId};
use recado_domain::provider::Provider;
use recado_pipeline::ports::{ConfigurationStore, PortResult};
use rusqlite::{Connection, OptionalExtension, Params, params};

fn select_configuration(
    connection: &Connection,
    tenant: Option<&TenantId>,
) -> Result<ConfigDocument, DbError> {
    let is_whole = tenant.is_none();
    let tenant = [tenant.map(TenantId::as_str)];
    let tenants = "SELECT body FROM tenants WHERE ?1 IS NULL OR id = ?1 ORDER BY id";
    // Few agents, and changes of them are rare: they need no column for their tenant.
    let agents =
        "SELECT body FROM agents WHERE ?1 IS NULL OR json_extract(body, '$.tenant') = ?1 ORDER BY id";
    let instances = "SELECT body FROM instances WHERE ?1 IS NULL OR tenant = ?1 ORDER BY id";
    Ok(ConfigDocument {
        tenants: query_all(connection, tenants, tenant)?,
        agents: query_all(connection, agents, tenant)?,
        instances: query_all(connection, instances, tenant)?,
        // The alerts are the installation's.
        alerts: if is_whole {
            select_alert_config(connection)?
        } else {
            None
        },
    })
}

fn apply_document(connection: &Connection, change: &ConfigDocument) -> Result<(), DbError> {
    for tenant in &change.tenants {
        let sql = "INSERT OR REPLACE INTO tenants (id, body) VALUES (?1, ?2)";
        execute_sql(connection, sql, params![tenant.id.as_str(), encode_json(tenant)?])?;
    }
    for agent in &change.agents {
        let sql = "INSERT OR REPLACE INTO agents (id, body) VALUES (?1, ?2)";
        execute_sql(connection, sql, params![agent.id.as_str(), encode_json(agent)?])?;
    }
    if let Some(alerts) = &change.alerts {
        write_installation_value(connection, ALERT_CONFIG, &encode_json(alerts)?)?;
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

const SELECT_INSTANCE_CONFIG: &str = "SELECT i.body, t.body, a.body FROM instances i
    JOIN tenants t ON t.id = i.tenant JOIN agents a ON a.id = i.agent WHERE ";

fn select_instance_config(
    connection: &Connection,
    condition: &str,
    params: impl Params,
) -> Result<Option<InstanceConfig>, DbError> {
    let found: Option<(String, String, String)> = connection
        .prepare_cached(&format!("{SELECT_INSTANCE_CONFIG}{condition}"))?
        .query_row(params, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((instance, tenant, agent)) = found else {
        return Ok(None);
    };
    Ok(Some(InstanceConfig {
        instance: decode_json(&instance)?,
        tenant: decode_json(&tenant)?,
        agent: decode_json(&agent)?,
    }))
}

impl ConfigurationStore for Embedded {
    async fn read_configuration(&self, tenant: Option<&TenantId>) -> PortResult<ConfigDocument> {
        let tenant = tenant.cloned();
        self.run_read("configuration", move |c| select_configuration(c, tenant.as_ref()))
            .await
    }

    async fn apply_configuration(&self, change: &ConfigDocument) -> PortResult<()> {
        let change = change.clone();
        self.run_write("apply", move |c| apply_document(c, &change)).await
    }

    async fn remove_configuration(&self, removal: &ConfigRemoval) -> PortResult<()> {
        let removal = removal.clone();
        self.run_write("remove_configuration", move |c| delete_entries(c, &removal))
            .await
    }

    async fn find_instance_config(
        &self,
        provider: Provider,
        external: &ExternalId,
    ) -> PortResult<Option<InstanceConfig>> {
        let external = external.clone();
        let work = move |c: &Connection| {
            select_instance_config(
                c,
                "i.provider = ?1 AND i.external = ?2",
                params![provider.as_str(), external.as_str()],
            )
        };
        self.run_read("bound", work).await
    }

    async fn instance_config(&self, id: &InstanceId) -> PortResult<Option<InstanceConfig>> {
        let id = id.clone();
        self.run_read("bound_by_id", move |c| {
            select_instance_config(c, "i.id = ?1", [id.as_str()])
        })
        .await
    }
}
