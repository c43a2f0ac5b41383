//! Google Calendar, version 3, and the endpoint that gives access tokens.
//!
//! Every request to a calendar meets the next [`Behaviour`](super::Behaviour) of the journal, also one that only asks. Requests for tokens
//! meet what [`GoogleStandIn::next_token_answer`] says.

mod book;
mod checks;
mod event;
mod test_key;
mod tokens;

use super::call::{Call, Refusal, json};
use super::host::Host;
use super::journal::Journal;
use axum::extract::{Path, RawQuery};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use book::CalendarBook;
use checks::{ListQuestion, Parameters};
use serde_json::{Value, json};
use std::io;
use std::ops::Deref;
use std::sync::Arc;

/// The calendar that is there from the start.
pub const CALENDAR: &str = "agenda@clinic.example";

/// A running stand-in; stopped when dropped. It dereferences to its [`Journal`].
#[derive(Debug)]
pub struct GoogleStandIn {
    host: Host,
    journal: Arc<Journal>,
    book: Arc<CalendarBook>,
}

impl GoogleStandIn {
    /// Starts one on any free port of 127.0.0.1.
    ///
    /// # Panics
    /// When there is none.
    #[expect(
        clippy::expect_used,
        reason = "a test on a machine without a free port cannot go on"
    )]
    pub fn start() -> Self {
        Self::start_on(0).expect("a free port of 127.0.0.1")
    }

    /// Starts one on this port of 127.0.0.1; on any free one for 0.
    pub fn start_on(port: u16) -> io::Result<Self> {
        let (journal, book) = (Arc::<Journal>::default(), Arc::<CalendarBook>::default());
        book.add_calendar(CALENDAR);
        let routes = Router::new()
            .route("/token", post(tokens::give_token))
            .route("/calendar/v3/freeBusy", post(query_busy))
            .route("/calendar/v3/calendars/{calendar}/events", post(insert).get(list))
            .route(
                "/calendar/v3/calendars/{calendar}/events/{event}",
                get(find).patch(patch).delete(delete),
            )
            .fallback(no_route)
            .method_not_allowed_fallback(no_route)
            .layer(Extension(book.clone()))
            .with_state(journal.clone());
        let host = Host::start(port, routes)?;
        Ok(Self { host, journal, book })
    }

    /// The base URL of the API.
    pub fn api_base_url(&self) -> String {
        format!("{}/calendar/v3", self.host.url())
    }

    /// The URL that gives tokens.
    pub fn token_url(&self) -> String {
        format!("{}/token", self.host.url())
    }

    /// The key file of a service account that the calendars are shared with.
    pub fn service_account(&self) -> String {
        tokens::service_account().to_string()
    }

    /// A refresh token with its client, as the calendars' owner gave it.
    pub fn authorized_user(&self) -> String {
        tokens::authorized_user().to_string()
    }

    /// What it was told beside requests.
    pub fn book(&self) -> &CalendarBook {
        &self.book
    }
}

impl Deref for GoogleStandIn {
    type Target = Journal;

    fn deref(&self) -> &Journal {
        &self.journal
    }
}

/// An error as the API writes it.
pub fn google_error(code: u16, reason: &str) -> Value {
    let message = format!("stand-in: {reason}");
    let error = json!({"domain": "global", "reason": reason, "message": message});
    json!({"error": {"errors": [error], "code": code, "message": message}})
}

/// An answer with such an error.
fn refuse_with(code: u16, reason: &str) -> Response {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    json(status, google_error(code, reason))
}

type Book = Extension<Arc<CalendarBook>>;

async fn query_busy(Extension(book): Book, RawQuery(query): RawQuery, call: Call) -> Response {
    let checked = checks::check_query(query.as_deref(), &[]).and_then(|_| checks::check_busy(&call));
    match check_token(&book, &call).and(checked) {
        Ok(question) => call.perform(move |_, _| book.answer_busy(&question)).await,
        Err(refusal) => refuse(&call, &refusal),
    }
}

async fn insert(
    Extension(book): Book,
    Path(calendar): Path<String>,
    RawQuery(query): RawQuery,
    call: Call,
) -> Response {
    let checked = checks::check_query(query.as_deref(), &checks::ACTING)
        .and_then(|query| checks::check_mails(&query))
        .and_then(|()| event::check_new(&call));
    match check_token(&book, &call).and(checked) {
        Ok(()) => {
            call.perform(move |_, request| book.insert(&calendar, &request.body))
                .await
        }
        Err(refusal) => refuse(&call, &refusal),
    }
}

async fn find(
    Extension(book): Book,
    Path((calendar, event)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    call: Call,
) -> Response {
    let checked = checks::check_query(
        query.as_deref(),
        &["alwaysIncludeEmail", "maxAttendees", "timeZone"],
    );
    match check_token(&book, &call).and(checked) {
        Ok(_) => call.perform(move |_, _| book.find(&calendar, &event)).await,
        Err(refusal) => refuse(&call, &refusal),
    }
}

async fn list(
    Extension(book): Book,
    Path(calendar): Path<String>,
    RawQuery(query): RawQuery,
    call: Call,
) -> Response {
    let checked = checks::check_query(query.as_deref(), &checks::LISTING)
        .and_then(|query: Parameters| ListQuestion::read(&query));
    match check_token(&book, &call).and(checked) {
        Ok(question) => call.perform(move |_, _| book.list(&calendar, &question)).await,
        Err(refusal) => refuse(&call, &refusal),
    }
}

async fn patch(
    Extension(book): Book,
    Path((calendar, event)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    call: Call,
) -> Response {
    let checked = checks::check_query(query.as_deref(), &checks::ACTING)
        .and_then(|query| checks::check_mails(&query))
        .and_then(|()| event::check_patch(&call))
        .and_then(|()| checks::check_version(&call));
    match check_token(&book, &call).and(checked) {
        Ok(version) => {
            call.perform(move |_, request| book.patch(&calendar, &event, &version, &request.body))
                .await
        }
        Err(refusal) => refuse(&call, &refusal),
    }
}

async fn delete(
    Extension(book): Book,
    Path((calendar, event)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    call: Call,
) -> Response {
    let checked = checks::check_query(query.as_deref(), &["sendUpdates", "sendNotifications"])
        .and_then(|query| checks::check_mails(&query))
        .and_then(|()| checks::check_version(&call));
    match check_token(&book, &call).and(checked) {
        Ok(version) => {
            call.perform(move |_, _| book.delete(&calendar, &event, &version))
                .await
        }
        Err(refusal) => refuse(&call, &refusal),
    }
}

async fn no_route(call: Call) -> Response {
    call.violate("no such route");
    refuse_with(404, "notFound")
}

/// Checks that the request carries a token that was given and is good.
fn check_token(book: &CalendarBook, call: &Call) -> Result<(), Refusal> {
    let bearer = call
        .header("authorization")
        .and_then(|header| header.strip_prefix("Bearer "));
    match bearer {
        None => Err(Refusal::Wrong("no bearer token".to_owned())),
        Some(token) if book.is_token(token) => Ok(()),
        Some(_) => Err(Refusal::Credential),
    }
}

fn refuse(call: &Call, refusal: &Refusal) -> Response {
    match refusal {
        Refusal::Credential => refuse_with(401, "authError"),
        Refusal::Wrong(what) => {
            call.violate(what);
            refuse_with(400, "invalid")
        }
    }
}
