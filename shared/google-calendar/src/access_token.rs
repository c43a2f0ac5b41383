//! Access tokens: asked for with the credential, and kept until shortly before they expire.

use crate::answer::{RequestKind, plain_word};
use crate::config::GoogleCalendarConfig;
use crate::credential::GoogleCredential;
use crate::error::CalendarError;
use crate::exchange::exchange_request;
use crate::jwt::TokenClaim;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::CredentialRef;
use recado_domain::secret::Secret;
use recado_ports::ports::{Secrets, System};
use reqwest::Url;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The scopes: events, and when a calendar is busy (<https://developers.google.com/workspace/calendar/api/auth>).
const SCOPES: &str =
    "https://www.googleapis.com/auth/calendar.events https://www.googleapis.com/auth/calendar.freebusy";

/// A token is not used when it expires so soon. A call that begins with it ends before.
const EXPIRY_MARGIN: SignedDuration = SignedDuration::from_secs(120);

/// Longest time for which a token is kept, whatever Google says.
const LIFE_MAX: i64 = 3600;

/// Number of tokens above which all are forgotten.
const TOKENS_MAX: usize = 10_000;

/// A token that is kept.
#[derive(Debug, Clone)]
struct KeptToken {
    token: Secret,
    expires_at: Timestamp,
}

/// The tokens of a process, by the reference to their credential.
#[derive(Debug, Clone, Default)]
pub(crate) struct AccessTokens(Arc<Mutex<HashMap<CredentialRef, KeptToken>>>);

/// An access token, and whether it was asked for just now.
pub(crate) struct UsableToken {
    pub(crate) token: Secret,
    pub(crate) is_fresh: bool,
}

impl AccessTokens {
    fn lock_tokens(&self) -> MutexGuard<'_, HashMap<CredentialRef, KeptToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the token of a credential, because it was refused.
    pub(crate) fn forget_token(&self, reference: &CredentialRef) {
        self.lock_tokens().remove(reference);
    }

    fn find_token(&self, reference: &CredentialRef, now: Timestamp) -> Option<Secret> {
        let tokens = self.lock_tokens();
        let kept = tokens.get(reference)?;
        (kept.expires_at.duration_since(now) > EXPIRY_MARGIN).then(|| kept.token.clone())
    }

    fn keep_token(&self, reference: &CredentialRef, kept: KeptToken) {
        let mut tokens = self.lock_tokens();
        if tokens.len() >= TOKENS_MAX {
            tokens.clear();
        }
        tokens.insert(reference.clone(), kept);
    }

    /// Returns a token of the credential: the one that is kept, or a new one.
    pub(crate) async fn obtain_token(
        &self,
        reference: &CredentialRef,
        asker: &TokenAsker<'_, impl Secrets, impl System>,
    ) -> Result<UsableToken, CalendarError> {
        let now = asker.system.now();
        if let Some(token) = self.find_token(reference, now) {
            return Ok(UsableToken {
                token,
                is_fresh: false,
            });
        }
        let kept = asker.request_token(reference, now).await?;
        self.keep_token(reference, kept.clone());
        Ok(UsableToken {
            token: kept.token,
            is_fresh: true,
        })
    }
}

/// The parts with which a token is asked for.
pub(crate) struct TokenAsker<'a, S, A> {
    pub(crate) http: &'a reqwest::Client,
    pub(crate) secrets: &'a S,
    pub(crate) system: &'a A,
    pub(crate) config: &'a GoogleCalendarConfig,
    pub(crate) timeout: Duration,
}

impl<S: Secrets, A: System> TokenAsker<'_, S, A> {
    async fn request_token(
        &self,
        reference: &CredentialRef,
        now: Timestamp,
    ) -> Result<KeptToken, CalendarError> {
        let secret = match self.secrets.resolve_secret(reference).await {
            Ok(Some(secret)) => secret,
            Ok(None) => return Err(CalendarError::Credentials(reference.describe_missing())),
            Err(_) => return Err(CalendarError::unavailable("the credential could not be read")),
        };
        let unusable = |problem| CalendarError::Credentials(format!("{problem}"));
        let credential = GoogleCredential::parse_credential(&secret).map_err(unusable)?;
        let form = self.build_form(&credential, now)?;
        let request = self
            .http
            .post(&self.config.token_url)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form);
        let answer = exchange_request(request, self.timeout).await;
        let answer = answer.map_err(crate::exchange::NoAnswer::of_question)?;
        // The token endpoint answers a refusal with 400 or 401 and a word (RFC 6749, section 5.2).
        if matches!(answer.status.as_u16(), 400 | 401 | 403) {
            self.secrets.forget_secret(reference).await;
            let word = plain_word(&answer.body["error"]);
            let word = word.unwrap_or_else(|| format!("status {}", answer.status.as_u16()));
            return Err(CalendarError::Credentials(format!("Google answered {word}")));
        }
        read_token(&answer.into_result(RequestKind::Question)?, now)
    }

    /// Writes the form of the request (<https://developers.google.com/identity/protocols/oauth2/web-server#offline>).
    fn build_form(&self, credential: &GoogleCredential, now: Timestamp) -> Result<String, CalendarError> {
        match credential {
            GoogleCredential::ServiceAccount {
                client_email,
                private_key_id,
                private_key,
            } => {
                let claim = TokenClaim {
                    client_email,
                    private_key_id: private_key_id.as_deref(),
                    scope: SCOPES,
                    audience: &self.config.token_url,
                    issued_at: now,
                };
                let signed = claim.sign_claim(private_key);
                let signed = signed.map_err(|problem| CalendarError::Credentials(problem.to_string()))?;
                Ok(encode_form(&[
                    ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
                    ("assertion", signed.expose_secret()),
                ]))
            }
            GoogleCredential::RefreshToken {
                client_id,
                client_secret,
                refresh_token,
            } => Ok(encode_form(&[
                ("grant_type", "refresh_token"),
                ("client_id", client_id),
                ("client_secret", client_secret.expose_secret()),
                ("refresh_token", refresh_token.expose_secret()),
            ])),
        }
    }
}

/// Writes fields as `application/x-www-form-urlencoded`.
fn encode_form(fields: &[(&str, &str)]) -> String {
    let Ok(mut url) = Url::parse("http://form.invalid/") else {
        return String::new();
    };
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}

fn read_token(body: &Value, now: Timestamp) -> Result<KeptToken, CalendarError> {
    let token = body["access_token"].as_str().and_then(Secret::new);
    let is_bearer = body["token_type"]
        .as_str()
        .is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
    let token = token.filter(|_| is_bearer);
    let token = token.ok_or_else(|| CalendarError::unavailable("Google's answer holds no access token"))?;
    let seconds = body["expires_in"].as_i64().unwrap_or(0).clamp(0, LIFE_MAX);
    let expires_at = now
        .saturating_add(SignedDuration::from_secs(seconds))
        .unwrap_or(now);
    Ok(KeptToken { token, expires_at })
}
