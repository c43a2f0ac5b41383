//! The client: a token, one request, and what its answer means.

use crate::access_token::{AccessTokens, TokenAsker, UsableToken};
use crate::answer::RequestKind;
use crate::config::GoogleCalendarConfig;
use crate::error::CalendarError;
use crate::exchange::exchange_request;
use recado_domain::config::CredentialRef;
use recado_ports::ports::{Secrets, System};
use reqwest::header::IF_MATCH;
use reqwest::{Method, Url};
use serde_json::Value;
use std::time::Duration;

/// Least time that must be left for a request after the token was asked for.
const LEAST_TIME: Duration = Duration::from_millis(200);

/// A client of Google Calendar. It asks `S` for the credential when it needs an access token.
#[derive(Debug, Clone)]
pub struct GoogleCalendar<S, A> {
    http: reqwest::Client,
    secrets: S,
    system: A,
    config: GoogleCalendarConfig,
    tokens: AccessTokens,
}

/// A calendar, and the credential with which it is asked.
#[derive(Debug, Clone, Copy)]
pub struct CalendarTarget<'a> {
    /// The calendar's id at Google: an e-mail address.
    pub calendar_id: &'a str,
    /// The reference to the credential.
    pub credential: &'a CredentialRef,
}

/// One request to the API.
pub(crate) struct CalendarRequest<'a> {
    pub(crate) kind: RequestKind,
    pub(crate) method: Method,
    pub(crate) path: &'a [&'a str],
    pub(crate) query: &'a [(&'a str, &'a str)],
    pub(crate) version: Option<&'a str>,
    pub(crate) body: Option<Value>,
}

impl<S: Secrets, A: System> GoogleCalendar<S, A> {
    /// Creates a client that sends through `http`, which must follow no redirects (as `recado_http_client` makes it).
    pub fn new(http: reqwest::Client, secrets: S, system: A, config: GoogleCalendarConfig) -> Self {
        Self {
            http,
            secrets,
            system,
            config,
            tokens: AccessTokens::default(),
        }
    }

    /// Makes one request. A question whose kept token is refused is asked once more with a new one; what acts is never repeated.
    pub(crate) async fn call_api(
        &self,
        credential: &CredentialRef,
        request: CalendarRequest<'_>,
    ) -> Result<Value, CalendarError> {
        let answer = self.call_once(credential, &request).await;
        match answer {
            Err(CalendarFailure::RefusedToken { is_fresh: false, .. })
                if request.kind == RequestKind::Question =>
            {
                self.call_once(credential, &request)
                    .await
                    .map_err(CalendarFailure::into_error)
            }
            answer => answer.map_err(CalendarFailure::into_error),
        }
    }

    async fn call_once(
        &self,
        credential: &CredentialRef,
        request: &CalendarRequest<'_>,
    ) -> Result<Value, CalendarFailure> {
        let began = self.system.now();
        let UsableToken { token, is_fresh } = self
            .obtain_token(credential)
            .await
            .map_err(CalendarFailure::Other)?;
        let spent = Duration::try_from(self.system.now().duration_since(began)).unwrap_or_default();
        let left = self.config.timeout.saturating_sub(spent);
        if left < LEAST_TIME {
            let late = CalendarError::unavailable("the access token came too late");
            return Err(CalendarFailure::Other(late));
        }
        let url = self.build_url(request).ok_or_else(|| {
            CalendarFailure::Other(CalendarError::Refused(
                "the calendar's URL cannot be used".to_owned(),
            ))
        })?;
        let mut outgoing = self
            .http
            .request(request.method.clone(), url)
            .bearer_auth(token.expose_secret());
        if let Some(version) = request.version {
            outgoing = outgoing.header(IF_MATCH, version);
        }
        if let Some(body) = &request.body {
            outgoing = outgoing.json(body);
        }
        let answer = exchange_request(outgoing, left).await;
        let answer = answer.map_err(|none| match request.kind {
            RequestKind::Question => CalendarFailure::Other(none.of_question()),
            RequestKind::Action => CalendarFailure::Other(none.of_action()),
        })?;
        match answer.into_result(request.kind) {
            Err(error @ CalendarError::Credentials(_)) => {
                self.tokens.forget_token(credential);
                self.secrets.forget_secret(credential).await;
                Err(CalendarFailure::RefusedToken { error, is_fresh })
            }
            result => result.map_err(CalendarFailure::Other),
        }
    }

    async fn obtain_token(&self, credential: &CredentialRef) -> Result<UsableToken, CalendarError> {
        let asker = TokenAsker {
            http: &self.http,
            secrets: &self.secrets,
            system: &self.system,
            config: &self.config,
            timeout: self.config.timeout,
        };
        self.tokens.obtain_token(credential, &asker).await
    }

    /// Appends the path, each part percent-encoded, and the query to the base URL.
    fn build_url(&self, request: &CalendarRequest<'_>) -> Option<Url> {
        let mut url = Url::parse(&self.config.api_base_url).ok()?;
        url.path_segments_mut().ok()?.pop_if_empty().extend(request.path);
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(request.query);
        }
        Some(url)
    }
}

/// The failure of one request.
enum CalendarFailure {
    /// The token was refused.
    RefusedToken { error: CalendarError, is_fresh: bool },
    /// Another failure.
    Other(CalendarError),
}

impl CalendarFailure {
    fn into_error(self) -> CalendarError {
        let (Self::RefusedToken { error, .. } | Self::Other(error)) = self;
        error
    }
}
