use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{
    NewestFirstQuery, count_from_sql, decode_json, encode_json, execute_sql, read_lossy_text,
};
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::millis::from_unix_millis;
use recado_domain::reason::Reason;
use recado_ports::ports::{DeadLetterCounts, DeadLetterFilter, DeadLetters, Page, PageRequest, PortResult};
use rusqlite::{Connection, Row, params, params_from_iter};
use serde_json::{Map, Value};

pub(crate) fn upsert_dead_letter(connection: &Connection, dead_letter: &DeadLetter) -> Result<bool, DbError> {
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

/// Stores a dead letter in place of any other that has its id.
pub(super) fn replace_dead_letter(connection: &Connection, dead_letter: &DeadLetter) -> Result<(), DbError> {
    execute_sql(
        connection,
        "DELETE FROM dead_letters WHERE id = ?1",
        [&dead_letter.id],
    )?;
    upsert_dead_letter(connection, dead_letter).map(drop)
}

/// The columns that [`parse_letter`] reads, beside `id` and `at`.
const LETTER_COLUMNS: &str = "queue, reason, tenant, instance, body";

/// Returns the dead letter of a row. If its record cannot be read, the dead letter says so, and has what the other columns tell.
fn parse_letter(row: &Row<'_>) -> Result<DeadLetter, DbError> {
    let body = read_lossy_text(row, row.as_ref().column_index("body")?)?.unwrap_or_default();
    let error = match decode_json(&body) {
        Ok(dead_letter) => return Ok(dead_letter),
        Err(error) => error,
    };
    let (id, at): (String, i64) = (row.get("id")?, row.get("at")?);
    tracing::error!(dead_letter = %id, %error, "the record of a dead letter cannot be read");
    let mut fields: Value = serde_json::from_str(&body).unwrap_or_default();
    if !fields.is_object() {
        fields = Value::Object(Map::new());
    }
    for column in ["queue", "reason", "tenant", "instance"] {
        fields[column] = row.get::<_, Option<String>>(column)?.into();
    }
    let at = from_unix_millis(at);
    Ok(DeadLetter::from_damaged_record(id, at, &fields, body))
}

fn find_letter_row(connection: &Connection, id: &str) -> Result<Option<DeadLetter>, DbError> {
    let sql = format!("SELECT id, at, {LETTER_COLUMNS} FROM dead_letters WHERE id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([id])?;
    rows.next()?.map(parse_letter).transpose()
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
        self.run_lookup("dead_letter", move |c| find_letter_row(c, &id))
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
                .fetch_rows(c, LETTER_COLUMNS, parse_letter)
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
