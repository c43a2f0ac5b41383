//! Removes a tenant with everything that is stored of it. Each call does a bounded part, and each step can be repeated: a
//! removal that was cut off is asked for again and goes on. The tenant's configuration, which leads to its records, goes
//! last.

mod records;
pub mod removal_routes;

use jiff::{SignedDuration, Timestamp};
use recado_domain::access::{Caller, Scope};
use recado_domain::audit::AuditAction;
use recado_domain::config::{ConfigDocument, ConfigRemoval, Tenant};
use recado_domain::counting::count_things;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::audit_action;
use recado_pipeline::steps::owed_replies::{count_owed, describe_owed};
use recado_ports::ports::{
    ConversationFilter, EventOwners, PageRequest, PortError, PortResult, WriteOutcome,
};
use recado_ports::records::configuration::{load_configuration, replace_configuration};
use recado_ports::records::dead_letters::count_dead_letters;
use recado_ports::records::scheduled_messages::list_pending_scheduled;
use recado_ports::records::tokens::{delete_token, list_token_names, list_tokens};
use serde::{Deserialize, Serialize};

/// Number of tokens that one read returns.
const TOKENS: usize = 200;

/// The options of a removal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct RemovalOptions {
    /// `true`: removed also if the tenant still owes replies.
    #[serde(default)]
    #[cfg_attr(feature = "schema", param(required = false, default = false))]
    pub force: bool,
    /// `true`: nothing is removed; the answer tells what there is, at most 1,000 of a kind.
    #[serde(default)]
    #[cfg_attr(feature = "schema", param(required = false, default = false))]
    pub dry_run: bool,
}

/// What one request removed of a tenant, in numbers; with `dry_run`, what there is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = TenantRemovalView))]
pub struct RemovalReport {
    /// `true`: nothing of the tenant is left. `false`: the request must be repeated.
    pub done: bool,
    /// Time at which the request must be repeated; if absent, at once. Until then workers may still work for the tenant.
    pub waits_until: Option<Timestamp>,
    pub agents: usize,
    pub instances: usize,
    /// Tokens of the tenant.
    pub tokens: usize,
    pub conversations: usize,
    pub messages: usize,
    /// Events that were not applied yet.
    pub events: usize,
    /// Dead letters and their copies.
    pub dead_letters: usize,
    /// Messages that were to be sent later.
    pub scheduled: usize,
    /// Other records, such as states, notes and alerts.
    pub records: usize,
}

/// The number of conversations, or of any other kind, up to which a dry run counts.
pub const COUNTED_MAX: usize = 1000;

/// The reason for which a tenant was not removed.
#[derive(Debug, thiserror::Error)]
pub enum RemovalError {
    /// There is no such tenant.
    #[error("there is no such tenant")]
    NotFound,
    /// The caller's token opens one tenant alone.
    #[error("only a token of the installation removes tenants")]
    OtherScope,
    /// Instances of the tenant still owe replies.
    #[error("still owed: {}. Wait until they are answered or sent; `force` removes the tenant all the same", describe_owed(.0))]
    StillOwes(Vec<(InstanceId, usize)>),
    /// A store or queue failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Removes a part of a tenant, or tells what there is of it. [`RemovalReport::done`] tells whether the request must be
/// repeated.
pub async fn remove_tenant(
    deps: &Deps,
    caller: &Caller,
    tenant: &TenantId,
    options: RemovalOptions,
) -> Result<RemovalReport, RemovalError> {
    if let Scope::Tenant(own) = &caller.scope {
        return Err(if own == tenant {
            RemovalError::OtherScope
        } else {
            RemovalError::NotFound
        });
    }
    let document = load_configuration(deps.store(), Some(tenant)).await?;
    let known = document.tenants.first().ok_or(RemovalError::NotFound)?;
    if options.dry_run {
        return Ok(count_contents(deps, tenant, &document).await?);
    }
    let now = deps.system().now();
    let Some(since) = known.removing_since else {
        return begin_removal(deps, caller, &document, known, options.force).await;
    };
    let mut report = RemovalReport {
        tokens: revoke_tokens(deps, tenant).await?,
        ..RemovalReport::default()
    };
    let ready_at = add_duration(since, settling_time(deps));
    if now < ready_at {
        report.waits_until = Some(ready_at);
        return Ok(report);
    }
    records::remove_part(deps, tenant, &document, &mut report).await?;
    tracing::info!(
        %tenant, conversations = report.conversations, messages = report.messages, events = report.events,
        dead_letters = report.dead_letters, records = report.records, done = report.done,
        "a part of a tenant was removed"
    );
    Ok(report)
}

/// Returns the time after which no worker works for the tenant any more: none has the configuration of before, and those
/// that read it then are done.
fn settling_time(deps: &Deps) -> SignedDuration {
    let settings = deps.settings();
    let longest = settings.turn_lease.max(settings.send_lease);
    settings.config_ttl.saturating_add(longest)
}

/// Begins the removal: from now on the tenant does not work, and its webhooks are acknowledged and ignored.
async fn begin_removal(
    deps: &Deps,
    caller: &Caller,
    document: &ConfigDocument,
    tenant: &Tenant,
    force: bool,
) -> Result<RemovalReport, RemovalError> {
    let mut owed = count_owed(deps, document).await?;
    // Open records of other tenants were counted, too.
    owed.retain(|owing, _| document.instances.iter().any(|instance| instance.id == *owing));
    if !force && !owed.is_empty() {
        return Err(RemovalError::StillOwes(owed.into_iter().collect()));
    }
    let now = deps.system().now();
    let instances = count_things(document.instances.len() as u64, "instance");
    let agents = count_things(document.agents.len() as u64, "agent");
    let begun = AuditAction::TenantRemoved.on_object(Some(&tenant.id), "tenant", tenant.id.as_str());
    let contents = format!("{instances}, {agents}");
    audit_action(deps, caller, begun.with_result(contents)).await?;
    let change = ConfigDocument {
        tenants: vec![tenant.to_removed(now)],
        ..ConfigDocument::default()
    };
    let nothing = ConfigRemoval::default();
    let written = replace_configuration(deps.store(), &change, &nothing, document).await?;
    if written == WriteOutcome::Conflict {
        return Err(PortError::contended("tenant").into());
    }
    tracing::info!(by = %caller.name, tenant = %tenant.id, "the removal of a tenant began");
    Ok(RemovalReport {
        waits_until: Some(add_duration(now, settling_time(deps))),
        tokens: revoke_tokens(deps, &tenant.id).await?,
        ..RemovalReport::default()
    })
}

async fn revoke_tokens(deps: &Deps, tenant: &TenantId) -> PortResult<usize> {
    let names = list_token_names(deps.store(), tenant, TOKENS).await?;
    for name in &names {
        delete_token(deps.store(), Some(tenant), name).await?;
    }
    Ok(names.len())
}

/// Counts what is stored of the tenant, at most [`COUNTED_MAX`] of a kind.
async fn count_contents(
    deps: &Deps,
    tenant: &TenantId,
    document: &ConfigDocument,
) -> PortResult<RemovalReport> {
    let store = deps.store();
    let filter = ConversationFilter::of_tenant(tenant);
    let dead_letters = count_dead_letters(store, Some(tenant)).await?.count_of(None);
    let mut report = RemovalReport {
        agents: document.agents.len(),
        instances: document.instances.len(),
        tokens: list_tokens(store, Some(tenant), &PageRequest::first(TOKENS))
            .await?
            .items
            .len(),
        conversations: store
            .search_conversations(&filter, &PageRequest::first(COUNTED_MAX))
            .await?
            .items
            .len(),
        dead_letters: usize::try_from(dead_letters).unwrap_or(usize::MAX),
        ..RemovalReport::default()
    };
    report.events = store
        .list_pending_events(EventOwners::Instances(&document.instances, COUNTED_MAX))
        .await?
        .len();
    for instance in &document.instances {
        let pending = list_pending_scheduled(store, tenant, &instance.id).await?;
        report.scheduled += pending.len();
    }
    Ok(report)
}
