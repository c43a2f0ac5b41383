//! Lists what models used and which messages the provider charged, summed up by day, agent, model, country or tenant.
//!
//! Its types and rules are in [`recado_domain::usage`], [`recado_domain::price`] and [`recado_domain::budget`].

pub mod usage_routes;

use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::civil::Date;
use recado_domain::access::Caller;
use recado_domain::country::Country;
use recado_domain::ids::{AgentId, ConversationId, TenantId};
use recado_domain::message::TokenUsage;
use recado_domain::price::{Cost, PriceList};
use recado_domain::usage::UsageSum;
use recado_pipeline::Deps;
use recado_pipeline::steps::budget_reading::{list_message_use, read_prices};
use recado_pipeline::steps::invited_tenant::find_tenant;
use recado_pipeline::steps::message_view::find_message_deliveries;
use recado_pipeline::steps::working_instances::TenantPages;
use recado_ports::ports::{PageRequest, PortResult};
use recado_ports::records::configuration::find_config_by_id;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Number of tenants whose sums are read side by side.
const SIDE_BY_SIDE: usize = 16;

/// Number of messages of a conversation that are read at once.
const PAGE: usize = 200;

/// The part by which use is summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum UsageGroup {
    /// By day.
    Day,
    /// By agent.
    Agent,
    /// By model.
    Model,
    /// By the country of the recipients of charged messages.
    Country,
    /// By tenant.
    Tenant,
}

/// The use that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRequest {
    /// Only of this tenant.
    pub tenant: Option<TenantId>,
    /// Only of this conversation: what its record and its stored messages say, in place of the sums.
    pub conversation: Option<ConversationId>,
    /// The first day, in UTC.
    pub from: Date,
    /// The last day, in UTC.
    pub to: Date,
    /// The part by which use is summed up.
    pub by: UsageGroup,
}

/// The name of what a line sums up. Only the field of the request's [`UsageGroup`] is set; an agent has its tenant beside it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsageName {
    /// The day.
    pub day: Option<Date>,
    /// The tenant.
    pub tenant: Option<TenantId>,
    /// The agent.
    pub agent: Option<AgentId>,
    /// The model.
    pub model: Option<String>,
    /// The country. It is absent in the line of what has none, such as replies of models.
    pub country: Option<Country>,
}

impl UsageName {
    fn from_usage_sum(sum: &UsageSum, by: UsageGroup) -> Self {
        let names_tenant = matches!(by, UsageGroup::Agent | UsageGroup::Tenant);
        Self {
            day: (by == UsageGroup::Day).then_some(sum.day),
            tenant: names_tenant.then(|| sum.tenant.clone()),
            agent: (by == UsageGroup::Agent).then(|| sum.agent.clone()),
            model: (by == UsageGroup::Model).then(|| sum.model.clone()),
            country: sum.country.filter(|_| by == UsageGroup::Country),
        }
    }
}

/// The use of models by one day, agent, model, country or tenant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageLine {
    /// The name of what the line sums up.
    pub name: UsageName,
    /// Number of replies.
    pub replies: u64,
    /// Number of finished drafts that became no reply.
    pub discarded_drafts: u64,
    /// Number of transcribed recordings.
    pub recordings: u64,
    /// Length of the recordings, in milliseconds, where it was told.
    pub audio_millis: u64,
    /// Number of messages for which the provider charges.
    pub charged_messages: u64,
    /// Tokens.
    pub tokens: TokenUsage,
    /// Cost of all of it by the configured prices.
    pub cost: Cost,
}

/// Lists what models used, within the caller's scope, in the order of the names. Returns `None` if the tenant or the conversation
/// does not exist there.
pub async fn read_usage(
    deps: &Deps,
    caller: &Caller,
    request: &UsageRequest,
) -> PortResult<Option<Vec<UsageLine>>> {
    let found = match &request.conversation {
        Some(conversation) => list_sums_of_conversation(deps, caller, request, conversation).await?,
        None => list_stored_sums(deps, caller, request).await?,
    };
    let Some(sums) = found else {
        return Ok(None);
    };
    let prices = read_prices(deps.store()).await?;
    Ok(Some(sum_up_lines(sums.into_iter(), request.by, &prices)))
}

/// Lists the stored sums of the tenants that are asked for. `None`: the tenant does not exist.
async fn list_stored_sums(
    deps: &Deps,
    caller: &Caller,
    request: &UsageRequest,
) -> PortResult<Option<Vec<UsageSum>>> {
    let wanted = request.tenant.as_ref().or(caller.scope.tenant());
    let tenants = match wanted {
        Some(tenant) if !caller.scope.covers(tenant) => return Ok(None),
        Some(tenant) => {
            if find_tenant(deps, tenant).await?.is_none() {
                return Ok(None);
            }
            vec![tenant.clone()]
        }
        None => {
            let (mut all, mut pages) = (Vec::new(), TenantPages::begin(deps.store()));
            while let Some(page) = pages.next_page().await? {
                all.extend(page.into_iter().map(|tenant| tenant.id));
            }
            all
        }
    };
    let sums: Vec<Vec<UsageSum>> = stream::iter(tenants)
        .map(|tenant| async move { deps.store().list_usage(&tenant, request.from, request.to).await })
        .buffered(SIDE_BY_SIDE)
        .try_collect()
        .await?;
    Ok(Some(sums.into_iter().flatten().collect()))
}

/// Lists what the stored replies of a conversation used, its recordings, its discarded drafts and its charged messages. `None`: the
/// conversation does not exist.
async fn list_sums_of_conversation(
    deps: &Deps,
    caller: &Caller,
    request: &UsageRequest,
    id: &ConversationId,
) -> PortResult<Option<Vec<UsageSum>>> {
    let is_meant = |tenant: &TenantId| {
        caller.scope.covers(tenant) && request.tenant.as_ref().is_none_or(|wanted| wanted == tenant)
    };
    let found = deps.store().find_conversation(id).await?;
    let Some(conversation) = found.filter(|conversation| is_meant(&conversation.tenant)) else {
        return Ok(None);
    };
    let bound = find_config_by_id(deps.store(), &conversation.instance).await?;
    let mut sums: Vec<UsageSum> = conversation.list_unsent_use().collect();
    let mut next = Some(PageRequest::first(PAGE));
    while let Some(page) = next {
        let listed = deps.store().list_messages(id, &page).await?;
        let deliveries = find_message_deliveries(deps, bound.as_deref(), &listed.items).await?;
        for (message, delivery) in listed.items.iter().zip(&deliveries) {
            sums.extend(list_message_use(message, delivery.as_ref(), bound.as_deref()));
        }
        next = page.follow(listed.next_cursor);
    }
    sums.retain(|sum| (request.from..=request.to).contains(&sum.day));
    Ok(Some(sums))
}

fn sum_up_lines(sums: impl Iterator<Item = UsageSum>, by: UsageGroup, prices: &PriceList) -> Vec<UsageLine> {
    let mut lines: BTreeMap<UsageName, UsageLine> = BTreeMap::new();
    for sum in sums {
        let name = UsageName::from_usage_sum(&sum, by);
        let line = lines.entry(name.clone()).or_insert_with(|| UsageLine {
            name,
            ..UsageLine::default()
        });
        line.replies = line.replies.saturating_add(sum.replies);
        line.discarded_drafts = line.discarded_drafts.saturating_add(sum.discarded_drafts);
        line.recordings = line.recordings.saturating_add(sum.recordings);
        line.audio_millis = line.audio_millis.saturating_add(sum.audio_millis);
        line.charged_messages = line.charged_messages.saturating_add(sum.charged_messages);
        line.tokens = line.tokens.add_token_counts(sum.tokens);
        line.cost.add_cost(&prices.price_sum(&sum));
    }
    lines.into_values().collect()
}
