//! `GET /v1/opt-outs`: who wants no unsolicited messages.

use crate::list_opt_outs;
use axum::Json;
use recado_domain::Timestamp;
use recado_domain::ids::TenantId;
use recado_domain::opt_out::{OptOut, OptOutSource};
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::NotFound;
use recado_http::api::request::{Asked, JsonAnswer, QueryParams, parse_page_request};
use recado_http::api::view::{ListView, list_problem};
use recado_http::problem::HttpProblem;
use serde::{Deserialize, Serialize};

/// The tenant and the page of the list.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct OptOutQuery {
    /// The tenant.
    tenant: TenantId,
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// The way by which a person told its preference.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = OptOutSource))]
#[serde(rename_all = "snake_case")]
enum OptOutSourceView {
    /// By a message to an instance.
    Message,
    /// By WhatsApp's own switch for marketing messages.
    WhatsAppSetting,
    /// By the link of an e-mail.
    Link,
    /// By a person of the tenant.
    Person,
}

/// The preference of one recipient, as it was told last.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = OptOut))]
pub struct OptOutView {
    /// Key of the recipient: a hash that tells nothing of the address.
    recipient: String,
    /// Address, as far as known. `null`: the person was erased, or opted out by a link.
    address: Option<String>,
    /// `true` if the person wants no messages; `false` if it wants them again.
    stopped: bool,
    /// Time at which the person said so.
    at: Timestamp,
    source: OptOutSourceView,
}

impl From<OptOut> for OptOutView {
    fn from(preference: OptOut) -> Self {
        Self {
            recipient: preference.recipient.into(),
            address: preference.address,
            stopped: preference.is_stopped,
            at: preference.at,
            source: match preference.source {
                OptOutSource::Message => OptOutSourceView::Message,
                OptOutSource::WhatsAppSetting => OptOutSourceView::WhatsAppSetting,
                OptOutSource::Link => OptOutSourceView::Link,
                OptOutSource::Person(_) => OptOutSourceView::Person,
            },
        }
    }
}

/// Returns who wants no unsolicited messages, and who wants them again.
///
/// Each recipient stands in the list once, with what it said last.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/opt-outs",
    params(OptOutQuery),
    responses((status = 200, body = ListView<OptOutView>, description = "The preferences, ordered by key"), NotFound)
))]
pub async fn get_opt_outs(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<OptOutQuery>,
) -> JsonAnswer<ListView<OptOutView>> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let found = list_opt_outs(&api.deps, &caller, &wanted.tenant, &page).await;
    match found.map_err(|error| list_problem(error, page.cursor.is_some()))? {
        Some(found) => Ok(Json(ListView::from_page(found, OptOutView::from))),
        None => Err(HttpProblem::not_found("there is no such tenant")),
    }
}
