//! Checks the senders of e-mails for `recado doctor`, without sending.

use anyhow::Result;
use recado_cli::installation::InstalledConfiguration;
use recado_domain::config::EmailSender;
use recado_email::EmailClients;
use recado_http_client::build_http_client;
use recado_local::environment::LocalEnvironment;
use recado_local::keyring::EnvironmentSecrets;
use recado_onboarding::CheckResult;
use recado_pipeline::ports::{EmailError, EmailSenders};

/// Checks each sender of the configuration by its credential, as far as that is in this environment.
pub(crate) async fn check_email_senders(
    environment: &LocalEnvironment,
    configured: &InstalledConfiguration,
) -> Result<Vec<CheckResult>> {
    let clients = EmailClients::new(
        EnvironmentSecrets,
        build_http_client()?,
        environment.email.clone(),
    );
    let mut findings = Vec::new();
    for tenant in &configured.document.tenants {
        for sender in &tenant.email_senders {
            let name = format!("{}/{}", tenant.id, sender.id);
            findings.push(check_email_sender(&clients, &name, sender).await);
        }
    }
    Ok(findings)
}

async fn check_email_sender(
    clients: &EmailClients<EnvironmentSecrets>,
    name: &str,
    sender: &EmailSender,
) -> CheckResult {
    const CHECK: &str = "e-mail";
    // A sender without one of its own needs none here.
    let credential = sender.credential.as_ref();
    if credential.is_some_and(|credential| !EnvironmentSecrets::has_credential(credential)) {
        let found = "not asked: its credential is not in this environment";
        return CheckResult::check_noted(name, CHECK, found).with_fix("run this where the credential is");
    }
    match clients.check_email_sender(sender).await {
        Ok(found) => CheckResult::check_passed(name, CHECK, found),
        Err(error) => {
            let fix = match &error {
                EmailError::NeedsCredentials(_) => "set its credential anew (docs/email.md)",
                EmailError::SenderNotReady(_) => "finish its setup at the carrier (docs/email.md)",
                _ => "see whether the carrier can be reached from here",
            };
            CheckResult::check_failed(name, CHECK, error.to_string()).with_fix(fix)
        }
    }
}
