use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{NewestFirstQuery, count_from_sql, encode_json, execute_sql, query_one};
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::reason::Reason;
use recado_pipeline::ports::{
    DeadLetterCounts, DeadLetterFilter, DeadLetters, Page, PageRequest, PortResult,
};
use rusqlite::{Connection, params, params_from_iter};

fn upsert_dead_letter(connection: &Connection, dead_letter: &DeadLetter) -> Result<bool, DbError> {
    let sql = "INSERT INTO dead_letters (id, queue, reason, tenant, instance, at, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT (id) DO UPDATE SET queue = excluded.queue, reason = excluded.reason, tenant = excluded.tenant,
        instance = excluded.instance, at = excluded.at, body = excluded.body WHERE excluded.at > at";
    let tenant = dead_letter.tenant.as_ref().map(TenantId::as_str);
    let instance = dead_letter.instance.as_ref().map(InstanceId::as_str);
    let (queue, reason, at) = (
        dead_letter.queue.as_str(),
        dead_letter.reason.as_str(),
        dead_letter.at.as_millisecond(),
    );
    let stored = execute_sql(
        connection,
        sql,
        params![
            dead_letter.id,
            queue,
            reason,
            tenant,
            instance,
            at,
            encode_json(dead_letter)?
        ],
    )?;
    Ok(stored > 0)
}

fn delete_letter_row(connection: &Connection, id: &str, failed_at: Timestamp) -> Result<bool, DbError> {
    let sql = "DELETE FROM dead_letters WHERE id = ?1 AND at = ?2";
    Ok(execute_sql(connection, sql, params![id, failed_at.as_millisecond()])? > 0)
}

fn count_letter_rows(
    connection: &Connection,
    tenant: Option<&TenantId>,
) -> Result<DeadLetterCounts, DbError> {
    let sql = match tenant {
        None => "SELECT instance, COUNT(*) FROM dead_letters GROUP BY instance",
        Some(_) => "SELECT instance, COUNT(*) FROM dead_letters WHERE tenant = ?1 GROUP BY instance",
    };
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params_from_iter(tenant.map(TenantId::as_str)))?;
    let mut counts = DeadLetterCounts::default();
    while let Some(row) = rows.next()? {
        let instance: Option<String> = row.get(0)?;
        let instance = instance.and_then(|id| InstanceId::parse(&id).ok());
        *counts.0.entry(instance).or_default() += count_from_sql(row.get(1)?);
    }
    Ok(counts)
}

impl DeadLetters for Embedded {
    async fn put_dead_letter(&self, dead_letter: &DeadLetter) -> PortResult<bool> {
        let dead_letter = dead_letter.clone();
        self.run_write("put_dead_letter", move |c| upsert_dead_letter(c, &dead_letter))
            .await
    }

    async fn find_dead_letter(&self, id: &str) -> PortResult<Option<DeadLetter>> {
        let id = id.to_owned();
        self.run_lookup("dead_letter", move |c| {
            query_one(c, "SELECT body FROM dead_letters WHERE id = ?1", [&id])
        })
        .await
    }

    async fn remove_dead_letter(&self, id: &str, failed_at: Timestamp) -> PortResult<bool> {
        let id = id.to_owned();
        self.run_write("remove_dead_letter", move |c| {
            delete_letter_row(c, &id, failed_at)
        })
        .await
    }

    async fn list_dead_letters(
        &self,
        filter: &DeadLetterFilter,
        page: &PageRequest,
    ) -> PortResult<Page<DeadLetter>> {
        let (filter, page) = (filter.clone(), page.clone());
        let work = move |c: &Connection| {
            NewestFirstQuery::for_table("dead_letters", "at", &page)?
                .where_equal("tenant", filter.tenant.as_ref().map(TenantId::as_str))
                .where_absent("tenant", filter.of_nobody)
                .where_equal("instance", filter.instance.as_ref().map(InstanceId::as_str))
                .where_equal("queue", filter.queue.map(QueueName::as_str))
                .where_equal("reason", filter.reason.map(Reason::as_str))
                .where_between(filter.since, filter.until)
                .fetch_page(c)
        };
        self.run_read("dead_letters", work).await
    }

    async fn count_dead_letters(&self, tenant: Option<&TenantId>) -> PortResult<DeadLetterCounts> {
        let tenant = tenant.cloned();
        self.run_read("count_dead_letters", move |c| {
            count_letter_rows(c, tenant.as_ref())
        })
        .await
    }
}
