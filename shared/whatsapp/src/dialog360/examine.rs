//! What 360dialog says of a number.

use super::register::Setup;
use crate::setting_up::{Demands, Finding, Subject, Webhook, clock};
use crate::setup::SetupError;
use recado_domain::secret::Secret;

/// What 360dialog demands of an installation.
pub(crate) const DEMANDS: Demands = Demands {
    proof: "RECADO_WEBHOOK_SECRET",
    handshake: None,
    near: false,
    rate_max: None,
};

pub(crate) async fn examine(subject: &Subject<'_>, webhook: Option<&Webhook>, key: &Secret) -> Vec<Finding> {
    let name = subject.name();
    let said = match Setup::of(subject, key).webhook().await {
        Ok(said) => said,
        Err(error) => return vec![refused(name, &error)],
    };
    let expected = webhook.map(|webhook| webhook.url.as_str());
    let set = match said.body["url"].as_str() {
        Some(url) if Some(url) == expected => Finding::good(name, "webhook", "goes to the installation"),
        None | Some("") => {
            Finding::broken(name, "webhook", "is not set").mend(format!("recado connect {name}"))
        }
        Some(_) => Finding::broken(name, "webhook", "goes elsewhere").mend(format!("recado connect {name}")),
    };
    vec![
        Finding::good(name, "credential", "360dialog takes the key"),
        set,
        clock(name, (subject.now)(), said.date),
    ]
}

fn refused(name: &str, error: &SetupError) -> Finding {
    let (check, mend) = match error {
        SetupError::Refused { .. } => (
            "credential",
            "make a key for this number in 360dialog's hub, and set D360_API_KEY",
        ),
        SetupError::NotFound { .. } => ("webhook", "no webhook was ever set: run recado connect"),
        // A bill that was not paid, a number that was switched off.
        SetupError::Failed {
            status: 400..=499, ..
        } => (
            "provider",
            "360dialog's hub says what is to be done for this number",
        ),
        SetupError::NotUrl | SetupError::Unreachable { .. } | SetupError::Failed { .. } => (
            "provider",
            "is D360_BASE_URL right, and may this machine reach it?",
        ),
    };
    Finding::broken(name, check, error.to_string()).mend(mend)
}
