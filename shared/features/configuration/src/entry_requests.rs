//! The routes of tenants, calendars, tools, agents and instances have the same form: what they share is here.

use crate::{AskedParties, ChangedEntry, ConfigurationChange, EntryMatch};
use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use recado_domain::config::ConfigEntry;
use recado_domain::ids::TenantId;
use recado_http::api::context::Api;
use recado_http::api::request::{Asked, JsonAnswer, RequestBody, parse_page_request};
use recado_http::api::view::{ListView, answer_page};
use recado_http::problem::HttpProblem;
use recado_pipeline::records::applied_file::read_applied_file;
use recado_pipeline::table::Record;
use serde::{Deserialize, Serialize};

/// The filter and the page of a list of calendars, tools, agents or instances.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct EntryListQuery {
    /// Only of this tenant.
    #[cfg_attr(feature = "schema", param(value_type = Option<String>))]
    tenant: Option<TenantId>,
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// The page of the list of tenants.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct TenantListQuery {
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

impl From<TenantListQuery> for EntryListQuery {
    fn from(wanted: TenantListQuery) -> Self {
        Self {
            tenant: None,
            limit: wanted.limit,
            cursor: wanted.cursor,
        }
    }
}

/// The option of a removal.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct RemovalQuery {
    /// `true`: an instance is removed or disabled also if it still owes a reply.
    #[serde(default)]
    pub force: bool,
}

/// An entry of the configuration that was created or changed.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChangedEntryView<T> {
    /// The entry as it is stored now.
    entry: T,
    /// Problems that did not keep the entry from being stored, such as a provider that does not answer.
    warnings: Vec<String>,
}

/// The sentences that the descriptions of all changes share.
#[cfg(feature = "schema")]
pub const CHANGE_NOTE: &str = "A field that the body leaves out gets its default. `If-Match` names the version that is replaced, as `GET` gave it in\n`ETag`; `*` stands for any.";

/// The header that tells where an entry comes from. It is absent where no start applies a file.
const ENTRY_SOURCE: header::HeaderName = header::HeaderName::from_static("x-entry-source");

/// Answers with a page of the entries that a token opens.
pub async fn list_opened_entries<T: ConfigEntry + Record>(
    Asked(api, caller): Asked,
    wanted: impl Into<EntryListQuery>,
) -> JsonAnswer<ListView<T>> {
    let wanted: EntryListQuery = wanted.into();
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let tenant = wanted.tenant.as_ref();
    let found = crate::list_visible_entries::<T>(&api.deps, &caller, tenant, &page).await;
    answer_page(found, &page, std::convert::identity)
}

/// Answers with an entry, its version and its source.
pub async fn show_entry<T: ConfigEntry>(
    Asked(api, caller): Asked,
    id: &str,
) -> Result<Response, HttpProblem> {
    let entry: T = crate::find_entry(&api.deps, &caller, id).await?;
    let source = if api.options.applies_file {
        Some(read_applied_file(api.deps.store()).await?.find_source(&entry))
    } else {
        None
    };
    let source = source.map(|source| [(ENTRY_SOURCE, source.as_str())]);
    Ok((version_header(&entry)?, source, Json(entry)).into_response())
}

/// Creates the entry of a request's body.
pub async fn create_entry<T: ConfigEntry>(
    Asked(api, caller): Asked,
    body: RequestBody,
) -> Result<Response, HttpProblem> {
    let entry: T = body.parse().await?;
    let created = crate::create_entry(&api.deps, &caller, entry, asked_parties(&api)).await?;
    answer_changed(StatusCode::CREATED, created)
}

/// Replaces an entry by that of the request's body.
pub async fn change_entry<T: ConfigEntry>(
    Asked(api, caller): Asked,
    id: &str,
    body: RequestBody,
) -> Result<Response, HttpProblem> {
    let Some(expected) = parse_if_match(&body.headers)? else {
        return Err(HttpProblem::new(
            StatusCode::PRECONDITION_REQUIRED,
            "name the version to change in If-Match: the ETag of GET, or * for any",
        ));
    };
    let entry: T = body.parse().await?;
    if entry.entry_id() != id {
        return Err(HttpProblem::bad_request(
            "the id in the body is not that of the path",
        ));
    }
    let asks = asked_parties(&api);
    let changed = crate::change_entry(&api.deps, &caller, entry, &expected, asks).await?;
    answer_changed(StatusCode::OK, changed)
}

/// Removes or disables an entry.
pub async fn remove_entry<T: ConfigEntry>(
    Asked(api, caller): Asked,
    id: &str,
    headers: &HeaderMap,
    force: bool,
) -> JsonAnswer<ConfigurationChange> {
    let expected = parse_if_match(headers)?.unwrap_or(EntryMatch::Any);
    let removed = crate::remove_entry::<T>(&api.deps, &caller, id, &expected, force).await?;
    Ok(Json(removed))
}

fn answer_changed<T: ConfigEntry>(
    status: StatusCode,
    changed: ChangedEntry<T>,
) -> Result<Response, HttpProblem> {
    let version = version_header(&changed.entry)?;
    let view = ChangedEntryView {
        entry: changed.entry,
        warnings: changed.warnings,
    };
    Ok((status, version, Json(view)).into_response())
}

fn version_header<T: ConfigEntry>(entry: &T) -> Result<[(header::HeaderName, HeaderValue); 1], HttpProblem> {
    let text = format!("\"{}\"", crate::compute_version(entry));
    let value = HeaderValue::try_from(text)
        .map_err(|_| HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "the version is unreadable"))?;
    Ok([(header::ETAG, value)])
}

/// Parses the versions that a request expects; `None` if it expects none. A weak one never counts as the same.
fn parse_if_match(headers: &HeaderMap) -> Result<Option<EntryMatch>, HttpProblem> {
    let mut versions = Vec::new();
    for value in headers.get_all(header::IF_MATCH) {
        let malformed = || HttpProblem::bad_request("If-Match is malformed: write \"version\" or *");
        let text = value.to_str().map_err(|_| malformed())?;
        for part in text.split(',').map(str::trim) {
            if part == "*" {
                return Ok(Some(EntryMatch::Any));
            }
            let quoted = part.strip_prefix("W/").unwrap_or(part);
            let version = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            let version = version.ok_or_else(malformed)?;
            if quoted == part {
                versions.push(version.to_owned());
            } else {
                versions.push(String::new());
            }
        }
    }
    Ok((!versions.is_empty()).then_some(EntryMatch::Versions(versions)))
}

/// Returns the parties that are asked about what is new in a change.
pub fn asked_parties(api: &Api) -> AskedParties {
    if api.options.asks_models {
        AskedParties::ProvidersAndModels
    } else {
        AskedParties::Providers
    }
}
