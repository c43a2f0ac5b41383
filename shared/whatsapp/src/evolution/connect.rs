//! The webhook is set by Evolution's API, read back, and tried.

use super::register::{ProvenBy, Setup, Wanted};
use crate::setting_up::{ConnectError, Connecting, Step, Subject, posted};
use recado_domain::ids::ExternalId;
use recado_domain::secret::Secret;
use serde_json::json;
use std::time::Duration;

/// How long our own webhook may take.
const TIMEOUT: Duration = Duration::from_secs(15);

impl<'a> Setup<'a> {
    /// The instance as `subject` has it; `None` if nobody says where Evolution is.
    pub(super) fn of(subject: &Subject<'a>, key: &'a Secret, instance: &'a ExternalId) -> Option<Self> {
        let base = subject.instance.base_url.as_ref();
        Some(Self {
            http: subject.http,
            base: base.or(subject.config.evolution_base_url.as_ref())?,
            key,
            instance,
            version: subject.instance.api_version,
        })
    }
}

pub(crate) async fn connect(
    subject: &Subject<'_>,
    connecting: &Connecting<'_>,
    steps: &mut Vec<Step>,
) -> Result<(), ConnectError> {
    let (key, webhook) = (connecting.key()?, connecting.webhook);
    let secret = webhook.secret.as_ref().ok_or(ConnectError::Missing(
        "the installation has no webhook secret: set RECADO_WEBHOOK_SECRET there",
    ))?;
    let instance = subject.instance.external();
    let instance = instance.ok_or(ConnectError::Missing("the instance has no name"))?;
    let at = Setup::of(subject, key, &instance).ok_or(ConnectError::Missing(
        "no base URL: set EVOLUTION_API_URL here, or base_url of the instance",
    ))?;
    let wanted = Wanted {
        url: &webhook.url,
        secret,
        proven_by: match (at.version, connecting.options.token) {
            (1, _) => ProvenBy::Url,
            (_, true) => ProvenBy::Token,
            (_, false) => ProvenBy::Header,
        },
        base64: connecting.options.base64,
    };
    if !connecting.options.check {
        let refused = format!("Evolution did not take the webhook of {}", subject.name());
        at.set_webhook(&wanted).await.map_err(ConnectError::of(refused))?;
        steps.push(Step::WebhookSet {
            provider: "Evolution",
        });
    }
    steps.push(read_back(&at, &wanted).await?);
    ping(subject, &wanted, &instance).await?;
    steps.push(Step::ProofTaken);
    Ok(())
}

async fn read_back(at: &Setup<'_>, wanted: &Wanted<'_>) -> Result<Step, ConnectError> {
    let unsaid = ConnectError::of("Evolution did not say how the webhook is set");
    let found = at.find_webhook().await.map_err(unsaid)?;
    let found = found.ok_or(ConnectError::Missing(
        "Evolution knows no webhook of this instance",
    ))?;
    let wrong = found.differs(wanted);
    if wrong.is_empty() {
        Ok(Step::ReadBack { events: found.events })
    } else {
        Err(ConnectError::Differs(wrong))
    }
}

/// Posts an event that means nothing, as Evolution would, to where Evolution would.
async fn ping(subject: &Subject<'_>, wanted: &Wanted<'_>, instance: &ExternalId) -> Result<(), ConnectError> {
    let body = json!({"event": "recado.ping", "instance": instance, "data": {}});
    let request = subject.http.post(wanted.url).json(&body);
    let request = match wanted.proven_by {
        ProvenBy::Url => request,
        ProvenBy::Header | ProvenBy::Token => request.header("apikey", wanted.secret.expose()),
    };
    if posted(request, TIMEOUT).await?["ignored"] == 1 {
        Ok(())
    } else {
        Err(ConnectError::SomebodyElse)
    }
}
