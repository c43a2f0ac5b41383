//! Recado's console: pages for people, made of what the API answers.
//!
//! The console is a client of the API within the same process. A page names the requests that it is made of; each is sent to
//! the API's own router within the session that the person signed in to. So roles, tenants and the audit hold for pages as they
//! hold for programs, and no page reads a record by another way. Forms are requests of the API, too ([`api_bridge`]).
//!
//! Templates, texts in three languages and assets are part of the binary.

mod api_bridge;
mod api_client;
mod assets;
mod day_lines;
mod form_body;
mod one_time_link;
mod origin;
mod page_request;
mod page_response;
mod page_table;
mod pages;
mod session;
mod sign_in;
mod templates;
mod texts;

use api_client::ApiClient;
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::{any, get};
pub use one_time_link::OneTimeLink;
use sign_in::SignInLimit;
use std::sync::Arc;
use templates::PageTemplates;

/// The settings of the console.
#[derive(Debug, Clone, Default)]
pub struct ConsoleOptions {
    /// `true` if the process serves `GET /v1/events/stream`. If not, pages ask again every few seconds.
    pub has_event_stream: bool,
    /// The URL of the WebSocket API that tells pages of news, where there is one: `wss://`, its host and its path.
    pub push_url: Option<String>,
    /// `true` if something is simulated, so that there is a page to write as a customer.
    pub has_simulator: bool,
    /// `true` if the API searches the texts of messages.
    pub has_text_search: bool,
    /// The origin at which files are read that the API redirects to, for the pages' content security policy. `None`: the API
    /// serves the files itself.
    pub file_origin: Option<String>,
    /// The link with which a person signs in once without a token. `None`: there is none.
    pub one_time_link: Option<OneTimeLink>,
}

impl ConsoleOptions {
    /// Names how pages learn of news: by the stream of events, by push, or by asking again.
    fn live_source(&self) -> &'static str {
        match (self.has_event_stream, &self.push_url) {
            (true, _) => "stream",
            (false, Some(_)) => "push",
            (false, None) => "none",
        }
    }
}

/// The state that every handler of the console gets.
#[derive(Clone)]
pub(crate) struct Console(Arc<ConsoleParts>);

pub(crate) struct ConsoleParts {
    pub(crate) api: ApiClient,
    pub(crate) options: ConsoleOptions,
    pub(crate) sign_in_limit: SignInLimit,
    pub(crate) templates: PageTemplates,
    /// The value of the header `Content-Security-Policy` of every page.
    pub(crate) content_policy: String,
}

impl std::ops::Deref for Console {
    type Target = ConsoleParts;

    fn deref(&self) -> &ConsoleParts {
        &self.0
    }
}

/// The error of a console that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// A template is malformed.
    #[error("a template of the console is malformed")]
    Template(#[from] minijinja::Error),
    /// The texts of a language are malformed.
    #[error("the texts of the console are malformed")]
    Texts(#[from] serde_json::Error),
}

/// Returns the routes of the console: `/`, and all below `/console`. `api` is the finished router of the API.
///
/// # Errors
///
/// A template or the texts are malformed, which the tests exclude.
pub fn console_routes(api: Router, options: ConsoleOptions) -> Result<Router, ConsoleError> {
    let console = Console(Arc::new(ConsoleParts {
        api: ApiClient::new(api),
        content_policy: page_response::write_content_policy(&options),
        options,
        sign_in_limit: SignInLimit::default(),
        templates: PageTemplates::load()?,
    }));
    let pages = page_table::PAGES.iter().fold(Router::new(), |router, page| {
        router.route(
            page.route,
            get(move |console, request| pages::show_page(console, page, request)),
        )
    });
    let routes = pages
        .route("/console/api/{*path}", any(api_bridge::pass_request))
        .route("/console/sign-out", axum::routing::post(sign_in::end_own_session))
        .route("/console/{*path}", get(pages::show_missing_page))
        .route_layer(from_fn_with_state(console.clone(), session::require_session))
        .route("/", get(|| async { Redirect::temporary("/console") }))
        .route(
            "/console/sign-in",
            get(sign_in::show_sign_in).post(sign_in::sign_in),
        )
        .route("/console/open/{code}", get(sign_in::open_one_time_link))
        .route("/console/language", axum::routing::post(texts::choose_language))
        .route("/console/assets/{name}", get(assets::get_asset))
        .layer(from_fn(origin::refuse_other_origins))
        .layer(from_fn_with_state(console.clone(), page_response::add_headers))
        .with_state(console);
    Ok(routes)
}

/// Reads the body of a form as the console does. Returns `false` if it is refused. The fuzzing calls it.
#[doc(hidden)]
pub fn parse_console_form(body: &[u8]) -> bool {
    let fields = form_body::FormFields::split(body);
    fields.and_then(form_body::FormFields::into_request).is_ok()
}

#[cfg(test)]
mod tests;
