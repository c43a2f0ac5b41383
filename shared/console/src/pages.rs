//! Shows a page: asks the API for what the page is made of, and renders its template.

use crate::Console;
use crate::api_client::ApiRefusal;
use crate::page_request::{PageLanguage, fill_request_path};
use crate::page_response::{csv_or_error, html_or_error};
use crate::page_table::{ConsolePage, PageRead};
use crate::session::Session;
use crate::templates::make_permission_test;
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, RequestExt};
use futures::future::join_all;
use minijinja::value::Serde;
use minijinja::{Value, context};
use serde_json::Map;
use std::collections::BTreeMap;

type Params = BTreeMap<String, String>;

/// The answers of the API for a page.
#[derive(Debug, Default)]
struct PageData {
    /// The answers by the names of the reads.
    read: Map<String, serde_json::Value>,
    /// The versions of the answers that have one.
    versions: BTreeMap<&'static str, String>,
    /// Why a read was refused, by its name.
    refused: BTreeMap<&'static str, String>,
}

/// Shows a page. What its token may not read is left out. If what the page is about cannot be read, the answer has that status.
pub(crate) async fn show_page(
    State(console): State<Console>,
    page: &'static ConsolePage,
    mut request: Request,
) -> Response {
    let Ok(Extension(session)) = request.extract_parts::<Extension<Session>>().await else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let params = request
        .extract_parts::<Path<Params>>()
        .await
        .map(|Path(params)| params);
    let params = params.unwrap_or_default();
    let query = Query::<Params>::try_from_uri(request.uri()).map(|Query(query)| query);
    let query = query.unwrap_or_default();
    let language = PageLanguage::from_headers(request.headers());
    let shared = context! {
        me => Value::from(Serde(&session.facts)),
        may => make_permission_test(session.facts.routes.clone()),
        section => page.section,
        params => params.clone(),
        query => query.clone(),
        path => request.uri().path(),
        here => request.uri().path_and_query().map_or("", |here| here.as_str()),
        live => console.options.live_source(),
        has_simulator => console.options.has_simulator,
        has_text_search => console.options.has_text_search,
    };
    match read_page(&console, page, &session, &params, &query).await {
        Ok(data) => {
            let values = context! {
                data => Value::from(Serde(&data.read)),
                versions => data.versions,
                refused => data.refused,
                ..shared
            };
            let rendered = console.templates.render(language, page.template, values);
            if page.is_table {
                csv_or_error(rendered, page.section)
            } else {
                html_or_error(rendered)
            }
        }
        Err(refusal) => {
            let values = context! { status => refusal.status.as_u16(), detail => refusal.detail, ..shared };
            (
                refusal.status,
                html_or_error(console.templates.render(language, "refusal.html", values)),
            )
                .into_response()
        }
    }
}

/// Sends the requests of a page side by side. The error is the refusal of a read that the page is about.
async fn read_page(
    console: &Console,
    page: &ConsolePage,
    session: &Session,
    params: &Params,
    query: &Params,
) -> Result<PageData, ApiRefusal> {
    let opens = |read: &PageRead| session.opens_route("GET", read.api_route());
    if let Some(closed) = page.reads.iter().find(|read| read.is_subject && !opens(read)) {
        return Err(ApiRefusal {
            status: StatusCode::FORBIDDEN,
            detail: format!("the role of this token does not open GET {}", closed.api_route()),
        });
    }
    let reads = page.reads.iter().filter(|read| opens(read));
    let answers = reads.map(async |read| (read, read_page_part(console, read, session, params, query).await));
    let mut data = PageData::default();
    for (read, answer) in join_all(answers).await {
        match answer {
            Ok((answer, version)) => {
                data.read.insert(read.name.to_owned(), answer);
                data.versions.insert(read.name, version);
            }
            Err(refusal) if read.is_subject => return Err(refusal),
            Err(refusal) => {
                data.refused.insert(read.name, refusal.detail);
            }
        }
    }
    Ok(data)
}

async fn read_page_part(
    console: &Console,
    read: &PageRead,
    session: &Session,
    params: &Params,
    query: &Params,
) -> Result<(serde_json::Value, String), ApiRefusal> {
    let path = fill_request_path(read.path, params, query).ok_or_else(|| ApiRefusal {
        status: StatusCode::NOT_FOUND,
        detail: "there is no such page".to_owned(),
    })?;
    console.api.read_answer_with_version(&path, &session.secret).await
}
