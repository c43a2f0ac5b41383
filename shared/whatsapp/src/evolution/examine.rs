//! What Evolution says of an instance.

use super::register::{Paired, Pairing, ProvenBy, Setup, Wanted};
use crate::setting_up::{Demands, Finding, Subject, Webhook, clock};
use crate::setup::SetupError;
use recado_domain::secret::Secret;

/// What Evolution demands of an installation. A number that is connected like a phone is likely to be blocked by WhatsApp
/// above 5 messages a second.
pub(crate) const DEMANDS: Demands = Demands {
    proof: "RECADO_WEBHOOK_SECRET",
    handshake: None,
    near: true,
    rate_max: Some(5.0),
};

pub(crate) async fn examine(subject: &Subject<'_>, webhook: Option<&Webhook>, key: &Secret) -> Vec<Finding> {
    let name = subject.name();
    let external = subject.instance.external();
    let at = external
        .as_ref()
        .and_then(|external| Setup::of(subject, key, external));
    let Some(at) = at else {
        let found = Finding::note(name, "provider", "not asked: no base URL is known here");
        return vec![found.mend("set EVOLUTION_API_URL here, or base_url of the instance")];
    };
    let (paired, said) = match at.connection().await {
        Ok(answer) => answer,
        Err(error) => return vec![refused(name, &error)],
    };
    vec![
        Finding::good(name, "credential", "Evolution takes the key"),
        connection(name, &at, &paired).await,
        set(name, &at, webhook).await,
        clock(name, (subject.now)(), said.date),
    ]
}

fn refused(name: &str, error: &SetupError) -> Finding {
    let (check, mend) = match error {
        SetupError::Refused { .. } => (
            "credential",
            "set EVOLUTION_API_KEY (or what the instance names) to Evolution's key",
        ),
        SetupError::NotFound { .. } => (
            "instance",
            "create it in Evolution (POST /instance/create), or mend external_id",
        ),
        SetupError::NotUrl | SetupError::Unreachable { .. } | SetupError::Failed { .. } => (
            "provider",
            "is Evolution running, and its base URL right (EVOLUTION_API_URL)?",
        ),
    };
    Finding::broken(name, check, error.to_string()).mend(mend)
}

async fn connection(name: &str, at: &Setup<'_>, paired: &Paired) -> Finding {
    match paired {
        Paired::Open => return Finding::good(name, "connection", "open"),
        Paired::Unclear => {
            let found = "Evolution does not say, as just after its restart";
            return Finding::note(name, "connection", found).mend("ask again in a minute");
        }
        Paired::Connecting | Paired::Closed => {}
    }
    let found = Finding::broken(
        name,
        "connection",
        "not connected to WhatsApp: a phone must be paired",
    );
    let Pairing { code, pairing_code } = match at.pairing().await {
        Ok(pairing) => pairing,
        Err(error) => {
            return found.mend(format!(
                "Evolution gives no QR code ({error}): restart the instance there"
            ));
        }
    };
    let found = match (&code, pairing_code) {
        (None, None) => found.mend("wait a minute and run this again for a QR code"),
        (_, Some(words)) => found.mend(format!("link the phone by the code {words}, or by the QR code")),
        (Some(_), None) => found.mend("scan the QR code (recado doctor shows it), then run this again"),
    };
    found.pairing(code.as_deref().and_then(Secret::new))
}

/// How the webhook is set there, held against what the installation says of it.
async fn set(name: &str, at: &Setup<'_>, webhook: Option<&Webhook>) -> Finding {
    let mend = format!("recado connect {name}");
    let found = match at.find_webhook().await {
        Ok(Some(found)) => found,
        Ok(None) => return Finding::broken(name, "webhook", "none is set").mend(mend),
        Err(error) => return Finding::broken(name, "webhook", error.to_string()).mend(mend),
    };
    let Some((webhook, secret)) = webhook.and_then(|webhook| Some((webhook, webhook.secret.as_ref()?)))
    else {
        return Finding::note(
            name,
            "webhook",
            "set, but the installation does not tell with which secret it should be",
        );
    };
    let wrong = found.differs(&Wanted {
        url: &webhook.url,
        secret,
        proven_by: match at.version {
            1 => ProvenBy::Url,
            _ => ProvenBy::Header,
        },
        base64: false,
    });
    if !wrong.is_empty() {
        return Finding::broken(name, "webhook", wrong.join("; ")).mend(mend);
    }
    Finding::good(name, "webhook", format!("set ({})", found.events.join(", ")))
}
