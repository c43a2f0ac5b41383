//! Shows a page: asks the API for what the page is made of, and renders its template.

use crate::Console;
use crate::api_client::{AnswerMarks, ApiRefusal};
use crate::page_request::{PageLanguage, fill_request_path};
use crate::page_response::{csv_or_error, html_or_error};
use crate::page_table::{ConsolePage, PageRead};
use crate::session::Session;
use crate::templates::make_permission_test;
use axum::extract::{Path, Query, Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Extension, RequestExt};
use futures::future::join_all;
use minijinja::value::Serde;
use minijinja::{Value, context};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Map;
use std::collections::{BTreeMap, BTreeSet};

type Params = BTreeMap<String, String>;

/// The templates that name the contact of each conversation that their entries concern.
const NAMES_PEOPLE: [&str; 4] = [
    "overview.html",
    "alerts.html",
    "dead_letters.html",
    "dead_letter.html",
];

/// Maximum number of contacts that a page names so.
const PEOPLE_MAX: usize = 50;

/// The answers of the API for a page.
#[derive(Debug, Default)]
struct PageData {
    /// The answers by the names of the reads.
    read: Map<String, serde_json::Value>,
    /// The versions of the answers that have one.
    versions: BTreeMap<&'static str, String>,
    /// The sources of the answers that have one.
    sources: BTreeMap<&'static str, String>,
    /// Why a read was refused, by its name.
    refused: BTreeMap<&'static str, ApiRefusal>,
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
        params => params.clone(),
        query => query.clone(),
        ..make_page_context(&console, &session, page.section, request.uri())
    };
    match read_page(&console, page, &session, &params, &query).await {
        Ok(mut data) => {
            if NAMES_PEOPLE.contains(&page.template) {
                let people = read_people(&console, &session, &data).await;
                data.read.insert("people".to_owned(), people.into());
            }
            let values = context! {
                data => Value::from(Serde(&data.read)),
                versions => data.versions,
                sources => data.sources,
                refused => Value::from(Serde(&data.refused)),
                ..shared
            };
            let rendered = console.templates.render(language, page.template, values);
            if page.is_table() {
                csv_or_error(rendered, page.section)
            } else {
                html_or_error(rendered)
            }
        }
        Err(refusal) => {
            let values = context! {
                status => refusal.status.as_u16(), refusal => Value::from(Serde(&refusal)), ..shared
            };
            (
                refusal.status,
                html_or_error(console.templates.render(language, "refusal.html", values)),
            )
                .into_response()
        }
    }
}

/// Answers with a page for an address below `/console` at which there is none.
pub(crate) async fn show_missing_page(
    State(console): State<Console>,
    Extension(session): Extension<Session>,
    request: Request,
) -> Response {
    let language = PageLanguage::from_headers(request.headers());
    let shared = make_page_context(&console, &session, "", request.uri());
    let values = context! { status => 404, ..shared };
    let page = console.templates.render(language, "refusal.html", values);
    (StatusCode::NOT_FOUND, html_or_error(page)).into_response()
}

/// Makes the values that every page of a person who is signed in has.
fn make_page_context(console: &Console, session: &Session, section: &str, address: &Uri) -> Value {
    context! {
        me => Value::from(Serde(&session.facts)),
        may => make_permission_test(session.facts.routes.clone()),
        section,
        path => address.path(),
        here => address.path_and_query().map_or("", |here| here.as_str()),
        live => console.options.live_source(),
        has_simulator => console.options.has_simulator,
        has_text_search => console.options.has_text_search,
    }
}

/// Reads who the contacts of the conversations are that the page's entries name, by the conversation's id. A conversation that
/// cannot be read is left out: the page then leads to it without a name.
async fn read_people(
    console: &Console,
    session: &Session,
    data: &PageData,
) -> Map<String, serde_json::Value> {
    let mut ids = BTreeSet::new();
    if session.opens_route("GET", "/v1/conversations/{id}") {
        data.read
            .values()
            .for_each(|answer| collect_conversations(answer, &mut ids));
    }
    let ids = ids.into_iter().take(PEOPLE_MAX);
    let reads = ids.map(|id| read_person(console, session, id.to_owned()));
    join_all(reads).await.into_iter().flatten().collect()
}

/// Reads who the contact of one conversation is.
async fn read_person(
    console: &Console,
    session: &Session,
    id: String,
) -> Option<(String, serde_json::Value)> {
    let path = format!("/v1/conversations/{}", utf8_percent_encode(&id, NON_ALPHANUMERIC));
    let answer = console.api.read_json_answer(&path, &session.secret).await;
    let contact = answer.ok()?.get("contact")?.clone();
    Some((id, contact))
}

/// Collects the conversations that the entries of an answer name. Nothing within the payload of a dead letter counts.
fn collect_conversations<'a>(answer: &'a serde_json::Value, into: &mut BTreeSet<&'a str>) {
    let items = answer.get("items").and_then(serde_json::Value::as_array);
    for entry in items.into_iter().flatten().chain([answer]) {
        let named = entry.get("conversation_id").and_then(serde_json::Value::as_str);
        into.extend(named);
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
    if page.reads.iter().any(|read| read.is_subject && !opens(read)) {
        return Err(ApiRefusal::closed_to_role());
    }
    let reads = page.reads.iter().filter(|read| opens(read));
    let answers = reads.map(async |read| (read, read_page_part(console, read, session, params, query).await));
    let mut data = PageData::default();
    for (read, answer) in join_all(answers).await {
        match answer {
            Ok((answer, marks)) => {
                data.read.insert(read.name.to_owned(), answer);
                data.versions.insert(read.name, marks.version);
                data.sources.insert(read.name, marks.source);
            }
            Err(refusal) if read.is_subject => return Err(refusal),
            Err(refusal) => {
                data.refused.insert(read.name, refusal);
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
) -> Result<(serde_json::Value, AnswerMarks), ApiRefusal> {
    let missing = || ApiRefusal::new(StatusCode::NOT_FOUND, "there is no such page");
    let path = fill_request_path(read.path, params, query).ok_or_else(missing)?;
    console.api.read_answer_with_marks(&path, &session.secret).await
}
