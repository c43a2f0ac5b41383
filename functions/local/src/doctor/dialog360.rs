//! What 360dialog says of a number.

use super::finding::Finding;
use super::{Patient, clock};
use recado_whatsapp::ProviderConfig;
use recado_whatsapp::setup::{SetupError, dialog360_webhook};

pub(super) async fn examine(patient: &Patient<'_>) -> Vec<Finding> {
    let name = patient.instance.id.as_str();
    let Some(key) = &patient.key else {
        return Vec::new();
    };
    let own = patient.instance.base_url.clone();
    let base = own
        .or_else(|| patient.environment.dialog360_url.clone())
        .unwrap_or_else(|| ProviderConfig::default().dialog360_base_url);
    let said = match dialog360_webhook(&patient.there.http, &base, key).await {
        Ok(said) => said,
        Err(error) => return vec![refused(name, &error)],
    };
    let mut findings = vec![Finding::good(name, "credential", "360dialog takes the key")];
    let expected = patient.webhook.map(|webhook| webhook.url.as_str());
    findings.push(match said.body["url"].as_str() {
        Some(url) if Some(url) == expected => Finding::good(name, "webhook", "goes to the installation"),
        Some(_) => Finding::broken(name, "webhook", "goes elsewhere").mend(format!("recado connect {name}")),
        None => Finding::broken(name, "webhook", "is not set").mend(format!("recado connect {name}")),
    });
    findings.push(clock(name, said.date));
    findings
}

fn refused(name: &str, error: &SetupError) -> Finding {
    let (check, mend) = match error {
        SetupError::Refused { .. } => (
            "credential",
            "make a key for this number in 360dialog's hub, and set D360_API_KEY",
        ),
        SetupError::NotFound { .. } => ("webhook", "no webhook was ever set: run recado connect"),
        SetupError::NotUrl | SetupError::Unreachable { .. } | SetupError::Failed { .. } => (
            "provider",
            "is D360_BASE_URL right, and may this machine reach it?",
        ),
    };
    Finding::broken(name, check, error.to_string()).mend(mend)
}
