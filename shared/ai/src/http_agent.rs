//! Agents that users run: each turn is posted to an endpoint, signed as Standard Webhooks defines it.
//!
//! The URL was written by a tenant, so it is judged before every request, as the URL of a tool is. The answer's body is never logged
//! and stands in no error, because it holds the agent's words.

#[cfg(test)]
mod tests;

use recado_domain::backoff::Backoff;
use recado_domain::http_agent::{HTTP_AGENT_MODEL, HttpAgentReply, read_http_agent_answer};
use recado_domain::message::TokenUsage;
use recado_domain::millis::add_millis;
use recado_domain::secret::Secret;
use recado_http_client::{
    FetchError, GuardedClients, HostReach, RequestFailure, read_body_within, read_retry_after, sign_webhook,
    url_origin,
};
use recado_ports::ports::{HttpAgentRequest, LlmError, LlmReply, Secrets, System};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Response};
use std::time::Duration;

/// Largest answer, in bytes.
const ANSWER_MAX: u64 = 256 * 1024;

/// Largest number of attempts for one draft.
const ATTEMPTS_MAX: u32 = 3;

/// Shortest useful time for an attempt.
const ATTEMPT_MIN: Duration = Duration::from_millis(500);

/// The waits between attempts, where the answer does not ask for a longer one.
const BACKOFF: Backoff = Backoff::Exponential {
    base: 0.5,
    cap: 8.0,
    jitter: 0.5,
};

/// A client of agents that users run.
#[derive(Debug, Clone)]
pub(crate) struct HttpAgents<S, A> {
    clients: GuardedClients,
    secrets: S,
    system: A,
}

/// The answer of an endpoint.
#[derive(Debug)]
enum Answered {
    /// Status 204: nothing is to be answered.
    Nothing,
    /// A body with another status of the class 2xx.
    Body(Vec<u8>),
}

/// A failed attempt.
#[derive(Debug)]
enum Failure {
    /// The failure may pass; the endpoint may say after which time.
    MayPass(String, Option<Duration>),
    /// The failure will not pass.
    Final(LlmError),
}

impl<S: Secrets, A: System> HttpAgents<S, A> {
    /// Creates a client that asks `secrets` for the signing secret at every request.
    pub(crate) fn new(clients: GuardedClients, secrets: S, system: A) -> Self {
        Self {
            clients,
            secrets,
            system,
        }
    }

    /// Asks an agent for a reply, and repeats what may pass. `None`: it says that nothing is to be answered.
    pub(crate) async fn ask(&self, request: &HttpAgentRequest<'_>) -> Result<Option<LlmReply>, LlmError> {
        let secret = self.resolve_secret(request).await?;
        let body = request.body.to_string();
        let within = i64::try_from(request.within.as_millis()).unwrap_or(i64::MAX);
        let deadline = add_millis(self.system.now(), within);
        let time_left = || Duration::try_from(deadline.duration_since(self.system.now())).unwrap_or_default();
        let mut attempt = 1;
        loop {
            let answered = self.post_turn(request, &secret, &body, time_left()).await;
            let (why, asked_wait) = match answered.and_then(|answered| read_answer(answered, request)) {
                Ok(reply) => return Ok(reply),
                Err(Failure::Final(error)) => {
                    if matches!(error, LlmError::Credentials(_)) {
                        self.secrets.forget_secret(&request.agent.secret).await;
                    }
                    return Err(error);
                }
                Err(Failure::MayPass(why, asked_wait)) => (why, asked_wait),
            };
            let usual = BACKOFF.delay_for_attempt(attempt, self.system.random_u64());
            let wait = asked_wait.unwrap_or_default().max(usual.unsigned_abs());
            let in_time = attempt < ATTEMPTS_MAX && wait.saturating_add(ATTEMPT_MIN) < time_left();
            tracing::warn!(attempt, why, retried = in_time, "the user's agent did not answer");
            if !in_time {
                return Err(LlmError::Unavailable(name_server(request, &why)));
            }
            self.system.sleep(wait).await;
            attempt += 1;
        }
    }

    /// Asks an agent once whether it takes requests.
    pub(crate) async fn check(&self, request: &HttpAgentRequest<'_>) -> Result<(), LlmError> {
        let secret = self.resolve_secret(request).await?;
        let body = request.body.to_string();
        match self.post_turn(request, &secret, &body, request.within).await {
            Ok(_) => Ok(()),
            Err(Failure::Final(error)) => Err(error),
            Err(Failure::MayPass(why, _)) => Err(LlmError::Unavailable(name_server(request, &why))),
        }
    }

    async fn resolve_secret(&self, request: &HttpAgentRequest<'_>) -> Result<Secret, LlmError> {
        let reference = &request.agent.secret;
        match self.secrets.resolve_secret(reference).await {
            Ok(Some(secret)) => Ok(secret),
            Ok(None) => Err(LlmError::Credentials(reference.describe_missing())),
            Err(error) => Err(LlmError::Unavailable(format!(
                "the signing secret could not be read: {error}"
            ))),
        }
    }

    /// Posts a body once. The signature is made at each attempt, since it holds the time.
    async fn post_turn(
        &self,
        asked: &HttpAgentRequest<'_>,
        secret: &Secret,
        body: &str,
        left: Duration,
    ) -> Result<Answered, Failure> {
        let refused = |why: String| Failure::Final(LlmError::Refused(name_server(asked, &why)));
        let reach = HostReach::for_encrypted(&asked.agent.url, asked.private_hosts)
            .ok_or_else(|| refused("its address is not https".to_owned()))?;
        let client = self.clients.client_for(reach);
        let client = client.map_err(|error| refused(error.to_string()))?;
        let request = client.build_request(Method::POST, &asked.agent.url);
        let signed = sign_webhook(secret, &asked.id, self.system.now().as_second(), body);
        let signed = signed.map_err(|error| Failure::Final(LlmError::Credentials(error.to_string())))?;
        let mut request = request
            .map_err(|refusal| refused(refusal.to_string()))?
            .timeout(left.min(asked.agent.time_limit().unsigned_abs()))
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_owned());
        for (name, value) in signed {
            request = request.header(name, value);
        }
        let no_answer = |error: reqwest::Error| match RequestFailure::from_error(&error) {
            // Such a name leads to no other address a moment later.
            failure @ (RequestFailure::ForbiddenAddress | RequestFailure::PrivateAddress) => {
                refused(failure.to_string())
            }
            failure => Failure::MayPass(failure.to_string(), None),
        };
        let answer = request.send().await.map_err(no_answer)?;
        let status = answer.status().as_u16();
        match status {
            204 => Ok(Answered::Nothing),
            200..=299 => read_body(answer).await,
            401 | 403 => Err(Failure::Final(LlmError::Credentials(name_server(
                asked,
                &format!("the signature was refused, with the status {status}"),
            )))),
            408 | 425 | 429 | 500..=599 => {
                let wait = read_retry_after(answer.headers()).map(Duration::from_secs);
                Err(Failure::MayPass(
                    format!("it answers with the status {status}"),
                    wait,
                ))
            }
            _ => Err(refused(format!("it answers with the status {status}"))),
        }
    }
}

async fn read_body(answer: Response) -> Result<Answered, Failure> {
    let read = read_body_within(answer, ANSWER_MAX).await;
    read.map(Answered::Body)
        .map_err(|error: FetchError| Failure::MayPass(error.to_string(), None))
}

/// Reads an answer. One that cannot be read may be another at the next attempt.
fn read_answer(answered: Answered, request: &HttpAgentRequest<'_>) -> Result<Option<LlmReply>, Failure> {
    let Answered::Body(body) = answered else {
        return Ok(None);
    };
    let read = read_http_agent_answer(&body, &request.decisions);
    let HttpAgentReply {
        text,
        decision,
        ignored,
    } = read.map_err(|malformed| Failure::MayPass(malformed.to_string(), None))?;
    Ok(Some(LlmReply {
        calls: Vec::new(),
        text,
        decision,
        ignored_calls: ignored,
        usage: TokenUsage::default(),
        model: HTTP_AGENT_MODEL.to_owned(),
    }))
}

/// Names the endpoint by its origin: a path may hold a secret.
fn name_server(request: &HttpAgentRequest<'_>, why: &str) -> String {
    match url_origin(&request.agent.url) {
        Some(origin) => format!("{origin}: {why}"),
        None => why.to_owned(),
    }
}
