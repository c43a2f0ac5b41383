use crate::Embedded;
use crate::fault::Fault;
use crate::record::{all, decode, encode, execute};
use recado_domain::config::{Bound, Document, Instance};
use recado_domain::ids::{ExternalId, InstanceId};
use recado_domain::provider::Provider;
use recado_pipeline::ports::{Directory, PortResult};
use rusqlite::{Connection, OptionalExtension, Params, params};

fn configuration(connection: &Connection) -> Result<Document, Fault> {
    Ok(Document {
        tenants: all(connection, "SELECT body FROM tenants ORDER BY id", [])?,
        agents: all(connection, "SELECT body FROM agents ORDER BY id", [])?,
        instances: all(connection, "SELECT body FROM instances ORDER BY id", [])?,
    })
}

fn apply(connection: &Connection, change: &Document) -> Result<(), Fault> {
    for tenant in &change.tenants {
        let sql = "INSERT OR REPLACE INTO tenants (id, body) VALUES (?1, ?2)";
        execute(connection, sql, params![tenant.id.as_str(), encode(tenant)?])?;
    }
    for agent in &change.agents {
        let sql = "INSERT OR REPLACE INTO agents (id, body) VALUES (?1, ?2)";
        execute(connection, sql, params![agent.id.as_str(), encode(agent)?])?;
    }
    // All of them first: two instances may swap their numbers in one change.
    for instance in &change.instances {
        execute(
            connection,
            "DELETE FROM instances WHERE id = ?1",
            [instance.id.as_str()],
        )?;
    }
    for instance in &change.instances {
        put_instance(connection, instance)?;
    }
    Ok(())
}

/// Fails where another instance has the same provider and name there: the caller should have seen that.
fn put_instance(connection: &Connection, instance: &Instance) -> Result<(), Fault> {
    let sql =
        "INSERT INTO instances (id, provider, external, tenant, agent, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let external = instance.external();
    let values = params![
        instance.id.as_str(),
        instance.provider.as_str(),
        external.as_ref().map(ExternalId::as_str),
        instance.tenant.as_str(),
        instance.agent.as_str(),
        encode(instance)?,
    ];
    execute(connection, sql, values)?;
    Ok(())
}

const BOUND: &str = "SELECT i.body, t.body, a.body FROM instances i
    JOIN tenants t ON t.id = i.tenant JOIN agents a ON a.id = i.agent WHERE ";

fn bound(connection: &Connection, condition: &str, params: impl Params) -> Result<Option<Bound>, Fault> {
    let found: Option<(String, String, String)> = connection
        .prepare_cached(&format!("{BOUND}{condition}"))?
        .query_row(params, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let Some((instance, tenant, agent)) = found else {
        return Ok(None);
    };
    Ok(Some(Bound {
        instance: decode(&instance)?,
        tenant: decode(&tenant)?,
        agent: decode(&agent)?,
    }))
}

impl Directory for Embedded {
    async fn configuration(&self) -> PortResult<Document> {
        self.read("configuration", configuration).await
    }

    async fn apply(&self, change: &Document) -> PortResult<()> {
        let change = change.clone();
        self.write("apply", move |c| apply(c, &change)).await
    }

    async fn bound(&self, provider: Provider, external: &ExternalId) -> PortResult<Option<Bound>> {
        let external = external.clone();
        let work = move |c: &Connection| {
            bound(
                c,
                "i.provider = ?1 AND i.external = ?2",
                params![provider.as_str(), external.as_str()],
            )
        };
        self.read("bound", work).await
    }

    async fn bound_by_id(&self, id: &InstanceId) -> PortResult<Option<Bound>> {
        let id = id.clone();
        self.read("bound_by_id", move |c| bound(c, "i.id = ?1", [id.as_str()]))
            .await
    }
}
