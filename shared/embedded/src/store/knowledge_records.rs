use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{encode_json, execute_sql, query_all, query_one, to_sql_integer, to_sql_limit};
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::AgentKnowledge;
use recado_domain::revision::is_first_write;
use recado_ports::ports::{KnowledgeRecords, PortResult, WriteOutcome};
use rusqlite::{Connection, params};

/// Writes a record in place of the stored one.
pub(super) fn put_knowledge(connection: &Connection, knowledge: &AgentKnowledge) -> Result<(), DbError> {
    let sql = "INSERT OR REPLACE INTO knowledge (tenant, agent, rev, body) VALUES (?1, ?2, ?3, ?4)";
    let (tenant, agent, rev) = (
        knowledge.tenant.as_str(),
        knowledge.agent.as_str(),
        to_sql_integer(knowledge.rev),
    );
    execute_sql(
        connection,
        sql,
        params![tenant, agent, rev, encode_json(knowledge)?],
    )
    .map(drop)
}

impl KnowledgeRecords for Embedded {
    async fn find_knowledge(&self, tenant: &TenantId, agent: &AgentId) -> PortResult<Option<AgentKnowledge>> {
        let (tenant, agent) = (tenant.clone(), agent.clone());
        self.run_read("find_knowledge", move |c| {
            let sql = "SELECT body FROM knowledge WHERE tenant = ?1 AND agent = ?2";
            query_one(c, sql, [tenant.as_str(), agent.as_str()])
        })
        .await
    }

    async fn save_knowledge(&self, knowledge: &AgentKnowledge) -> PortResult<WriteOutcome> {
        // A configuration that is kept names the snapshot.
        let (knowledge, changing) = (knowledge.clone(), self.config_cache().begin_config_change());
        self.run_write("save_knowledge", move |c| {
            let _held_until_committed = &changing;
            let sql = if is_first_write(knowledge.rev) {
                "INSERT OR IGNORE INTO knowledge (tenant, agent, rev, body) VALUES (?1, ?2, ?3, ?4)"
            } else {
                "UPDATE knowledge SET rev = ?3, body = ?4 WHERE tenant = ?1 AND agent = ?2 AND rev = ?3 - 1"
            };
            let (tenant, agent) = (knowledge.tenant.as_str(), knowledge.agent.as_str());
            let rev = to_sql_integer(knowledge.rev);
            let written = execute_sql(c, sql, params![tenant, agent, rev, encode_json(&knowledge)?])?;
            Ok(if written == 0 {
                WriteOutcome::Conflict
            } else {
                WriteOutcome::Written
            })
        })
        .await
    }

    async fn list_knowledge(&self, tenant: &TenantId, limit: usize) -> PortResult<Vec<AgentKnowledge>> {
        let tenant = tenant.clone();
        self.run_read("list_knowledge", move |c| {
            let sql = "SELECT body FROM knowledge WHERE tenant = ?1 ORDER BY agent LIMIT ?2";
            query_all(c, sql, params![tenant.as_str(), to_sql_limit(limit)])
        })
        .await
    }

    async fn delete_knowledge(&self, tenant: &TenantId, agent: &AgentId) -> PortResult<()> {
        let (tenant, agent) = (tenant.clone(), agent.clone());
        let changing = self.config_cache().begin_config_change();
        self.run_write("delete_knowledge", move |c| {
            let _held_until_committed = &changing;
            let sql = "DELETE FROM knowledge WHERE tenant = ?1 AND agent = ?2";
            execute_sql(c, sql, [tenant.as_str(), agent.as_str()])?;
            Ok(())
        })
        .await
    }
}
