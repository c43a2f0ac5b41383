use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{
    encode_json, execute_sql, make_page, query_all, query_found, query_one, row_exists, to_sql_integer,
    to_sql_limit,
};
use jiff::Timestamp;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::published_event::EventCursor;
use recado_domain::revision::{is_first_write, revisions_of};
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent};
use recado_ports::ports::{Page, PageRequest, PortError, PortResult, WebhookRecords, WriteOutcome};
use rusqlite::{Connection, params};

fn write_state(connection: &Connection, state: &EndpointState) -> Result<WriteOutcome, DbError> {
    let rev = to_sql_integer(state.rev);
    let sql = if is_first_write(state.rev) {
        "INSERT OR IGNORE INTO webhook_endpoints (tenant, endpoint, rev, body) VALUES (?1, ?2, ?3, ?4)"
    } else {
        "UPDATE webhook_endpoints SET rev = ?3, body = ?4 WHERE tenant = ?1 AND endpoint = ?2 AND rev = ?3 - 1"
    };
    let (tenant, endpoint) = (state.tenant.as_str(), state.endpoint.as_str());
    let written = execute_sql(
        connection,
        sql,
        params![tenant, endpoint, rev, encode_json(state)?],
    )?;
    Ok(if written == 0 {
        WriteOutcome::Conflict
    } else {
        WriteOutcome::Written
    })
}

/// Writes a state in place of the stored one.
pub(crate) fn put_state(connection: &Connection, state: &EndpointState) -> Result<(), DbError> {
    let sql =
        "INSERT OR REPLACE INTO webhook_endpoints (tenant, endpoint, rev, body) VALUES (?1, ?2, ?3, ?4)";
    let (tenant, endpoint, rev) = (
        state.tenant.as_str(),
        state.endpoint.as_str(),
        to_sql_integer(state.rev),
    );
    execute_sql(
        connection,
        sql,
        params![tenant, endpoint, rev, encode_json(state)?],
    )
    .map(drop)
}

pub(crate) fn write_failed(connection: &Connection, failed: &FailedEvent) -> Result<(), DbError> {
    let sql = "INSERT OR REPLACE INTO failed_posts (tenant, endpoint, cursor, next_at, expires, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let values = params![
        failed.tenant.as_str(),
        failed.endpoint.as_str(),
        to_sql_integer(failed.cursor.0),
        failed.next_at.map(Timestamp::as_millisecond),
        failed.expires_at().as_millisecond(),
        encode_json(failed)?
    ];
    execute_sql(connection, sql, values).map(drop)
}

/// The condition that a row is of the same event and generation, by the values of [`failed_key`].
const SAME_FAILED: &str = "tenant = ?1 AND endpoint = ?2 AND cursor = ?3
    AND coalesce(json_extract(body, '$.generation'), 0) = ?4";

fn failed_key(failed: &FailedEvent) -> (&str, &str, i64, i64) {
    let (cursor, generation) = (to_sql_integer(failed.cursor.0), to_sql_integer(failed.generation));
    (
        failed.tenant.as_str(),
        failed.endpoint.as_str(),
        cursor,
        generation,
    )
}

impl WebhookRecords for Embedded {
    async fn find_endpoint_state(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
    ) -> PortResult<Option<EndpointState>> {
        let (tenant, endpoint) = (tenant.clone(), endpoint.clone());
        let sql = "SELECT body FROM webhook_endpoints WHERE tenant = ?1 AND endpoint = ?2";
        self.run_read("endpoint_state", move |c| {
            query_one(c, sql, [tenant.as_str(), endpoint.as_str()])
        })
        .await
    }

    async fn list_endpoint_states(
        &self,
        tenant: Option<&TenantId>,
        limit: usize,
    ) -> PortResult<Vec<EndpointState>> {
        let tenant = tenant.cloned();
        let sql = "SELECT body FROM webhook_endpoints WHERE ?1 IS NULL OR tenant = ?1
            ORDER BY tenant, endpoint LIMIT ?2";
        self.run_read("endpoint_states", move |c| {
            let tenant = tenant.as_ref().map(TenantId::as_str);
            query_all(c, sql, params![tenant, to_sql_limit(limit)])
        })
        .await
    }

    async fn save_endpoint_state(
        &self,
        state: &EndpointState,
        failed: &[FailedEvent],
    ) -> PortResult<WriteOutcome> {
        let (state, failed) = (state.clone(), failed.to_vec());
        self.run_write("save_endpoint_state", move |c| {
            let outcome = write_state(c, &state)?;
            if outcome == WriteOutcome::Written {
                failed.iter().try_for_each(|one| write_failed(c, one))?;
            }
            Ok(outcome)
        })
        .await
    }

    async fn replace_failed_event(&self, failed: &FailedEvent) -> PortResult<WriteOutcome> {
        let failed = failed.clone();
        self.run_write("replace_failed_event", move |c| {
            if !row_exists(
                c,
                &format!("SELECT 1 FROM failed_posts WHERE {SAME_FAILED}"),
                failed_key(&failed),
            )? {
                return Ok(WriteOutcome::Conflict);
            }
            write_failed(c, &failed)?;
            Ok(WriteOutcome::Written)
        })
        .await
    }

    async fn remove_failed_event(&self, failed: &FailedEvent) -> PortResult<()> {
        let failed = failed.clone();
        self.run_write("remove_failed_event", move |c| {
            let sql = format!("DELETE FROM failed_posts WHERE {SAME_FAILED}");
            execute_sql(c, &sql, failed_key(&failed)).map(drop)
        })
        .await
    }

    async fn find_failed_event(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
        cursor: EventCursor,
    ) -> PortResult<Option<FailedEvent>> {
        let (tenant, endpoint, now) = (tenant.clone(), endpoint.clone(), self.current_time());
        let sql = "SELECT body FROM failed_posts
            WHERE tenant = ?1 AND endpoint = ?2 AND cursor = ?3 AND expires > ?4";
        self.run_read("failed_event", move |c| {
            let cursor = to_sql_integer(cursor.0);
            let values = params![tenant.as_str(), endpoint.as_str(), cursor, now.as_millisecond()];
            query_one(c, sql, values)
        })
        .await
    }

    async fn list_failed_events(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
        page: &PageRequest,
    ) -> PortResult<Page<FailedEvent>> {
        let after = match page.cursor.as_deref().map(str::parse::<EventCursor>) {
            None => EventCursor::START,
            Some(Ok(after)) => after,
            Some(Err(error)) => return Err(PortError::invalid("failed_events", error)),
        };
        let (tenant, endpoint, limit) = (tenant.clone(), endpoint.clone(), page.limit);
        let now = self.current_time();
        let sql = "SELECT body FROM failed_posts
            WHERE tenant = ?1 AND endpoint = ?2 AND cursor > ?3 AND expires > ?4 ORDER BY cursor LIMIT ?5";
        self.run_read("failed_events", move |c| {
            let values = params![
                tenant.as_str(),
                endpoint.as_str(),
                to_sql_integer(after.0),
                now.as_millisecond(),
                to_sql_limit(limit.saturating_add(1))
            ];
            let found = query_found(c, sql, values)?;
            Ok(make_page(found, limit, |last: &FailedEvent| {
                last.cursor.to_string()
            }))
        })
        .await
    }

    async fn list_due_failed_events(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
        now: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<FailedEvent>> {
        let (tenant, endpoint) = (tenant.clone(), endpoint.clone());
        let sql = "SELECT body FROM failed_posts
            WHERE tenant = ?1 AND endpoint = ?2 AND next_at <= ?3 ORDER BY next_at LIMIT ?4";
        self.run_read("due_failed_events", move |c| {
            let (due, limit) = (now.as_millisecond(), to_sql_limit(limit));
            query_all(c, sql, params![tenant.as_str(), endpoint.as_str(), due, limit])
        })
        .await
    }

    async fn delete_endpoint_records(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
        generation: Option<u64>,
    ) -> PortResult<()> {
        let (tenant, endpoint) = (tenant.clone(), endpoint.clone());
        let revisions = generation.map_or(0..u64::MAX, revisions_of);
        self.run_write("delete_endpoint_records", move |c| {
            let failed = "DELETE FROM failed_posts WHERE tenant = ?1 AND endpoint = ?2
                AND (?3 IS NULL OR coalesce(json_extract(body, '$.generation'), 0) = ?3)";
            let state = "DELETE FROM webhook_endpoints WHERE tenant = ?1 AND endpoint = ?2
                AND rev >= ?3 AND rev < ?4";
            let (tenant, endpoint) = (tenant.as_str(), endpoint.as_str());
            let (first, behind) = (to_sql_integer(revisions.start), to_sql_integer(revisions.end));
            execute_sql(
                c,
                failed,
                params![tenant, endpoint, generation.map(to_sql_integer)],
            )?;
            execute_sql(c, state, params![tenant, endpoint, first, behind]).map(drop)
        })
        .await
    }
}
