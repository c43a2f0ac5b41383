//! `/v1/audit`: who did what. There is no route that writes, changes or deletes an entry.

use recado_domain::Timestamp;
use recado_domain::access::TokenRole;
use recado_domain::audit::{AuditAction, AuditEntry};
use recado_domain::ids::{CorrelationId, Nonce, TenantId, TokenName};
use recado_http::api::request::{Asked, JsonAnswer, QueryParams, parse_page_request};
use recado_http::api::view::{ListView, answer_page};
use recado_pipeline::records::audit::AuditFilter;
use serde::{Deserialize, Serialize};

/// The filter and the page of the audit.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct AuditQuery {
    /// Only what was done to records of this tenant.
    tenant: Option<TenantId>,
    /// Only what was done with the token of this name.
    actor: Option<TokenName>,
    /// Only this action.
    action: Option<AuditAction>,
    /// Only what was done at this time or later.
    since: Option<Timestamp>,
    /// Only what was done before this time.
    until: Option<Timestamp>,
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// An entry of the audit.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AuditEntryView {
    id: Nonce,
    at: Timestamp,
    /// Name of the token.
    actor: TokenName,
    /// The tenant that the token is limited to. `null`: the whole installation.
    actor_tenant: Option<TenantId>,
    role: TokenRole,
    action: AuditAction,
    /// The tenant whose record it was done to. `null`: it belongs to no tenant.
    tenant: Option<TenantId>,
    /// The kind of the object, such as `conversation`.
    kind: String,
    /// The id of the object. For a contact: its thread, which is no address.
    object: String,
    /// The state before, in short.
    before: Option<String>,
    /// The state after, in short.
    after: Option<String>,
    /// Correlation id of the request. `null`: the installation did it by itself.
    correlation_id: Option<CorrelationId>,
}

impl From<AuditEntry> for AuditEntryView {
    fn from(entry: AuditEntry) -> Self {
        Self {
            id: entry.id,
            at: entry.at,
            actor: entry.actor,
            actor_tenant: entry.actor_tenant,
            role: entry.role,
            action: entry.action,
            tenant: entry.tenant,
            kind: entry.kind,
            object: entry.object,
            before: entry.before,
            after: entry.after,
            correlation_id: entry.correlation,
        }
    }
}

/// Lists who did what, the newest first.
///
/// An entry is written before the change that it tells of. If the change then failed, the entry stays.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/audit",
    params(AuditQuery),
    responses((status = 200, body = ListView<AuditEntryView>, description = "A page of entries"))
))]
pub async fn get_audit(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<AuditQuery>,
) -> JsonAnswer<ListView<AuditEntryView>> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let filter = AuditFilter {
        tenant: wanted.tenant,
        actor: wanted.actor,
        action: wanted.action,
        since: wanted.since,
        until: wanted.until,
    };
    let found = crate::list_audit(&api.deps, &caller, filter, &page).await;
    answer_page(found, &page, AuditEntryView::from)
}
