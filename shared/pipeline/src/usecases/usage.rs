//! Lists what models used, summed up by day, agent, model or tenant.

use crate::Deps;
use crate::ports::{ConfigurationStore, PortResult, UsageRecords};
use crate::steps::working_instances::list_all_tenants;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::civil::Date;
use recado_domain::access::Caller;
use recado_domain::config::ConfigNames;
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::message::TokenUsage;
use recado_domain::usage::UsageSum;
use std::collections::BTreeMap;

/// Number of tenants whose sums are read side by side.
const SIDE_BY_SIDE: usize = 16;

/// The part by which use is summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageGroup {
    /// By day.
    Day,
    /// By agent.
    Agent,
    /// By model.
    Model,
    /// By tenant.
    Tenant,
}

/// The use that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRequest {
    /// Only of this tenant.
    pub tenant: Option<TenantId>,
    /// The first day, in UTC.
    pub from: Date,
    /// The last day, in UTC.
    pub to: Date,
    /// The part by which use is summed up.
    pub by: UsageGroup,
}

/// The name of what a line sums up. Exactly the field of the request's [`UsageGroup`] is set; an agent has its tenant beside it.
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
}

impl UsageName {
    fn from_usage_sum(sum: &UsageSum, by: UsageGroup) -> Self {
        let nothing = Self::default();
        match by {
            UsageGroup::Day => Self {
                day: Some(sum.day),
                ..nothing
            },
            UsageGroup::Agent => Self {
                tenant: Some(sum.tenant.clone()),
                agent: Some(sum.agent.clone()),
                ..nothing
            },
            UsageGroup::Model => Self {
                model: Some(sum.model.clone()),
                ..nothing
            },
            UsageGroup::Tenant => Self {
                tenant: Some(sum.tenant.clone()),
                ..nothing
            },
        }
    }
}

/// The use of models by one day, agent, model or tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageLine {
    /// The name of what the line sums up.
    pub name: UsageName,
    /// Number of replies.
    pub replies: u64,
    /// Tokens.
    pub tokens: TokenUsage,
}

/// Lists what models used, within the caller's scope, in the order of the names. Returns `None` if the tenant does not exist there.
pub async fn read_usage(
    deps: &impl Deps,
    caller: &Caller,
    request: &UsageRequest,
) -> PortResult<Option<Vec<UsageLine>>> {
    let wanted = request.tenant.as_ref().or(caller.scope.tenant());
    let tenants = match wanted {
        Some(tenant) if !caller.scope.covers(tenant) => return Ok(None),
        Some(tenant) => {
            let names = ConfigNames {
                tenants: [tenant.clone()].into(),
                ..ConfigNames::default()
            };
            let found = deps.store().read_named(&names).await?;
            if found.tenants.is_empty() {
                return Ok(None);
            }
            vec![tenant.clone()]
        }
        None => {
            let all = list_all_tenants(deps.store()).await?;
            all.into_iter().map(|tenant| tenant.id).collect()
        }
    };
    let sums: Vec<Vec<UsageSum>> = stream::iter(tenants)
        .map(|tenant| async move { deps.store().list_usage(&tenant, request.from, request.to).await })
        .buffered(SIDE_BY_SIDE)
        .try_collect()
        .await?;
    let mut lines: BTreeMap<UsageName, (u64, TokenUsage)> = BTreeMap::new();
    for sum in sums.into_iter().flatten() {
        let (replies, tokens) = lines
            .entry(UsageName::from_usage_sum(&sum, request.by))
            .or_default();
        *replies = replies.saturating_add(sum.replies);
        *tokens = tokens.add_token_counts(sum.tokens);
    }
    let lines = lines.into_iter().map(|(name, (replies, tokens))| UsageLine {
        name,
        replies,
        tokens,
    });
    Ok(Some(lines.collect()))
}
