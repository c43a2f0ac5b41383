use crate::db_error::DbResult;
use crate::sql_records::{
    count_from_sql, decode_json, encode_json, execute_sql, query_all_rows, run_sql_statement, to_sql_integer,
};
use jiff::Timestamp;
use jiff::civil::Date;
use recado_domain::country::Country;
use recado_domain::ids::TenantId;
use recado_domain::message::TokenUsage;
use recado_domain::usage::UsageSum;
use rusqlite::{Connection, Row, params};

/// Adds a sum to the stored one of the same tenant, day, agent, model and country.
pub(super) fn add_usage_to_sum(db: &Connection, sum: &UsageSum) -> DbResult<()> {
    let sql = "INSERT INTO usage
            (tenant, day, agent, model, country, replies, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
                expires, discarded_drafts, recordings, audio_millis, charged_messages)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
        ON CONFLICT (tenant, day, agent, model, country) DO UPDATE SET replies = replies + ?6,
            input_tokens = input_tokens + ?7, output_tokens = output_tokens + ?8,
            cache_read_tokens = cache_read_tokens + ?9, cache_write_tokens = cache_write_tokens + ?10,
            discarded_drafts = discarded_drafts + ?12, recordings = recordings + ?13, audio_millis = audio_millis + ?14,
            charged_messages = charged_messages + ?15,
            expires = ?11";
    let tokens = sum.tokens;
    run_sql_statement(
        db,
        sql,
        params![
            sum.tenant.as_str(),
            sum.day.to_string(),
            sum.agent.as_str(),
            sum.model,
            sum.country.as_ref().map_or("", Country::as_str),
            to_sql_integer(sum.replies),
            to_sql_integer(tokens.input_tokens),
            to_sql_integer(tokens.output_tokens),
            to_sql_integer(tokens.cache_read_tokens),
            to_sql_integer(tokens.cache_write_tokens),
            sum.expires_at().as_millisecond(),
            to_sql_integer(sum.discarded_drafts),
            to_sql_integer(sum.recordings),
            to_sql_integer(sum.audio_millis),
            to_sql_integer(sum.charged_messages),
        ],
    )
}

/// Writes a sum in place of the stored one of the same tenant, day, agent, model and country.
pub(super) fn replace_usage_sum(db: &Connection, sum: &UsageSum, expires: Timestamp) -> DbResult<()> {
    let one = "tenant = ?1 AND day = ?2 AND agent = ?3 AND model = ?4 AND country = ?5";
    let (tenant, day, agent) = (sum.tenant.as_str(), sum.day.to_string(), sum.agent.as_str());
    let country = sum.country.as_ref().map_or("", Country::as_str);
    let gone = format!("DELETE FROM usage WHERE {one}");
    execute_sql(db, &gone, params![tenant, day, agent, sum.model, country])?;
    add_usage_to_sum(db, sum)?;
    let kept = format!("UPDATE usage SET expires = ?6 WHERE {one}");
    let until = expires.as_millisecond();
    let values = params![tenant, day, agent, sum.model, country, until];
    run_sql_statement(db, &kept, values)
}

/// The columns that [`parse_usage_sum`] reads, in its order, and then the tenant and the time of expiry.
pub(super) const SUM_COLUMNS: &str =
    "day, agent, model, country, replies, input_tokens, output_tokens, cache_read_tokens,
        cache_write_tokens, discarded_drafts, recordings, audio_millis, charged_messages, tenant, expires";

/// Reads the sum of a row of [`SUM_COLUMNS`].
pub(super) fn parse_usage_sum(tenant: &TenantId, row: &Row<'_>) -> DbResult<UsageSum> {
    let text = |column: usize| -> DbResult<String> { Ok(row.get(column)?) };
    let count = |column: usize| -> DbResult<u64> { Ok(count_from_sql(row.get(column)?)) };
    Ok(UsageSum {
        tenant: tenant.clone(),
        day: decode_json(&encode_json(&text(0)?)?)?,
        agent: decode_json(&encode_json(&text(1)?)?)?,
        model: text(2)?,
        country: Country::parse(&text(3)?),
        replies: count(4)?,
        tokens: TokenUsage {
            input_tokens: count(5)?,
            output_tokens: count(6)?,
            cache_read_tokens: count(7)?,
            cache_write_tokens: count(8)?,
        },
        discarded_drafts: count(9)?,
        recordings: count(10)?,
        audio_millis: count(11)?,
        charged_messages: count(12)?,
        kept: None,
    })
}

/// Returns the sums of a tenant's days, the first and the last included, that have not expired at `now`.
pub(super) fn select_usage_sums(
    db: &Connection,
    tenant: &TenantId,
    (from, to): (Date, Date),
    now: Timestamp,
) -> DbResult<Vec<UsageSum>> {
    let sql = format!(
        "SELECT {SUM_COLUMNS} FROM usage WHERE tenant = ?1 AND day BETWEEN ?2 AND ?3 AND expires > ?4
            ORDER BY day, agent, model, country"
    );
    let (from, to) = (from.to_string(), to.to_string());
    let values = params![tenant.as_str(), from, to, now.as_millisecond()];
    query_all_rows(db, &sql, values, |row| parse_usage_sum(tenant, row))
}
