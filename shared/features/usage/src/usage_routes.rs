//! `GET /v1/usage`: what models used and the provider charged, summed up.

use crate::{UsageGroup, UsageLine, UsageRequest, read_usage};
use axum::Json;
use recado_domain::country::Country;
use recado_domain::ids::{AgentId, ConversationId, TenantId};
use recado_domain::price::Cost;
use recado_domain::usage::{Date, resolve_usage_day, subtract_whole_days};
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::NotFound;
use recado_http::api::request::{Asked, JsonAnswer, QueryParams};
use recado_http::problem::HttpProblem;
use serde::{Deserialize, Serialize};

/// Number of days of a request that names no first day.
const DAYS: u32 = 30;

/// The use that is asked for.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct UsageQuery {
    /// The part by which use is summed up: `day` if absent.
    #[cfg_attr(feature = "schema", param(inline))]
    by: Option<UsageGroup>,
    /// Only of this tenant.
    tenant: Option<TenantId>,
    /// Only of this conversation: what its stored messages and its discarded drafts used. An erased message is not there.
    conversation: Option<ConversationId>,
    /// The first day, in UTC: 29 days before the last if absent; of a conversation the first of all.
    #[cfg_attr(feature = "schema", param(value_type = Option<String>, format = Date))]
    since: Option<Date>,
    /// The last day, in UTC: today if absent.
    #[cfg_attr(feature = "schema", param(value_type = Option<String>, format = Date))]
    until: Option<Date>,
}

/// The use of models in some days.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct UsageView {
    /// The first day, in UTC.
    #[cfg_attr(feature = "schema", schema(value_type = String, format = Date))]
    since: Date,
    /// The last day, in UTC.
    #[cfg_attr(feature = "schema", schema(value_type = String, format = Date))]
    until: Date,
    items: Vec<UsageItem>,
}

/// The use of models by one day, agent, model, country or tenant.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct UsageItem {
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, format = Date))]
    day: Option<Date>,
    /// The tenant; with an agent, that of the agent.
    tenant: Option<TenantId>,
    agent: Option<AgentId>,
    /// Name of the model, as its API reports it; of charged messages the provider and the category, such as `meta:utility`.
    model: Option<String>,
    /// Country of the recipients of charged messages, by its two characters. What has none stands in a line without a country.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, example = "BR"))]
    country: Option<Country>,
    /// Number of replies that models wrote.
    replies: u64,
    /// Number of finished drafts that became no reply. The contact wrote on, a person took over or another worker replied.
    discarded_drafts: u64,
    /// Number of recordings that were transcribed.
    recordings: u64,
    /// Length of the recordings in milliseconds, where the server tells it in place of tokens.
    audio_millis: u64,
    /// Number of delivered messages for which the provider charges.
    charged_messages: u64,
    /// Tokens read, without those of the prompt cache.
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    /// Cost of the tokens, recordings and charged messages by the configured prices, in each currency.
    costs: Vec<CostItem>,
    /// Number of tokens of models that have no price: the costs lack them.
    unpriced_tokens: u64,
    /// Length of recordings whose model has no price for them: the costs lack it.
    unpriced_audio_millis: u64,
    /// Number of charged messages that have no price: the costs lack them.
    unpriced_messages: u64,
}

/// An amount of money.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = UsageCost))]
pub struct CostItem {
    /// The currency, such as `USD`.
    currency: String,
    /// The amount in millionths of the currency's unit.
    micros: u64,
}

/// Lists the amounts of a cost.
pub fn list_costs(cost: &Cost) -> Vec<CostItem> {
    let amounts = cost.list_amounts();
    amounts
        .map(|(currency, micros)| CostItem {
            currency: currency.as_str().to_owned(),
            micros,
        })
        .collect()
}

impl From<UsageLine> for UsageItem {
    fn from(line: UsageLine) -> Self {
        let (name, tokens, cost) = (line.name, line.tokens, line.cost);
        Self {
            day: name.day,
            tenant: name.tenant,
            agent: name.agent,
            model: name.model,
            country: name.country,
            replies: line.replies,
            discarded_drafts: line.discarded_drafts,
            recordings: line.recordings,
            audio_millis: line.audio_millis,
            charged_messages: line.charged_messages,
            input_tokens: tokens.input_tokens,
            output_tokens: tokens.output_tokens,
            cache_read_tokens: tokens.cache_read_tokens,
            cache_write_tokens: tokens.cache_write_tokens,
            costs: list_costs(&cost),
            unpriced_tokens: cost.unpriced_tokens,
            unpriced_audio_millis: cost.unpriced_audio_millis,
            unpriced_messages: cost.unpriced_messages,
        }
    }
}

/// Returns what models used, summed up by day, agent, model, country or tenant.
///
/// The sums are of committed replies, discarded drafts, transcribed recordings and messages that the provider charges, and are kept for
/// 400 days.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/usage",
    params(UsageQuery),
    responses((status = 200, body = UsageView, description = "The sums, in the order of their names"), NotFound)
))]
pub async fn get_usage(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<UsageQuery>,
) -> JsonAnswer<UsageView> {
    let until = wanted
        .until
        .unwrap_or_else(|| resolve_usage_day(api.deps.system().now()));
    let usual = || match wanted.conversation {
        Some(_) => Date::constant(1970, 1, 1),
        None => subtract_whole_days(until, DAYS - 1),
    };
    let since = wanted.since.unwrap_or_else(usual);
    if since > until {
        return Err(HttpProblem::bad_request("since must not be after until"));
    }
    let request = UsageRequest {
        tenant: wanted.tenant,
        conversation: wanted.conversation,
        from: since,
        to: until,
        by: wanted.by.unwrap_or(UsageGroup::Day),
    };
    match read_usage(&api.deps, &caller, &request).await? {
        Some(lines) => Ok(Json(UsageView {
            since,
            until,
            items: lines.into_iter().map(UsageItem::from).collect(),
        })),
        None => Err(HttpProblem::not_found("there is no such tenant or conversation")),
    }
}
