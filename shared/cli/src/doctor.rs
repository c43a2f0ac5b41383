//! `recado doctor`: checks an installation, instance by instance, and says how to fix what is wrong.

mod installation_checks;
mod qr_code;
mod service_checks;

use crate::command_environment::CommandEnvironment;
use crate::consent::Consent;
use crate::credential;
use crate::installation::{InstallationArguments, InstallationClient, InstalledConfiguration};
use crate::text_lines::{WIDTH, wrap_text};
use anyhow::{Result, bail};
use clap::Args;
use futures::future::BoxFuture;
use jiff::Timestamp;
use recado_domain::alert::AlertKind;
use recado_domain::config::Instance;
use recado_machine::secret_variable::read_secret_variable;
use recado_onboarding::{CheckResult, OnboardingTarget, Severity};
use serde_json::json;

/// Checks a running installation and says how to fix what is wrong. It changes nothing. The installation looks at its own
/// keys, the model, the disk and what waits. With the providers' keys in this environment, each instance's webhook,
/// templates, clock and limits are checked as well, and the calendars and senders of e-mails. Exit status 1 if something is
/// broken.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Checks only these instances.
    instances: Vec<String>,
    #[command(flatten)]
    there: InstallationArguments,
    /// The providers' key or token, if not the ones that the instances name.
    #[arg(long, env = "RECADO_PROVIDER_KEY", hide_env_values = true)]
    key: Option<String>,
    /// Sends keys to hosts that the installation names, without asking.
    #[arg(long, short)]
    yes: bool,
    /// Prints the findings as JSON, without a QR code.
    #[arg(long)]
    json: bool,
}

/// Checks of a configuration that need parts of the server, which the command line does not know.
pub type MoreChecks<'c> =
    dyn for<'a> Fn(&'a InstalledConfiguration) -> BoxFuture<'a, Result<Vec<CheckResult>>> + Sync + 'c;

/// Runs all checks and prints the findings. Fails if something is broken.
pub fn run_doctor<'a>(
    command: DoctorArguments,
    environment: &'a CommandEnvironment,
    check_more: &'a MoreChecks<'a>,
) -> BoxFuture<'a, Result<()>> {
    Box::pin(run_checks(command, environment, check_more))
}

async fn run_checks(
    command: DoctorArguments,
    environment: &CommandEnvironment,
    check_more: &MoreChecks<'_>,
) -> Result<()> {
    let there = command.there.build_client(environment)?;
    let mut findings = installation_checks::check_installation(&there).await;
    match there.get_configuration().await {
        Ok(configured) => {
            findings.extend(installation_checks::check_time_zones(&configured.document));
            findings.extend(check_instances(&command, environment, &there, &configured).await?);
            if command.instances.is_empty() {
                findings.extend(check_more(&configured).await?);
            }
        }
        Err(error) => {
            let fix = "start Recado there, or give --url and --token as it has them";
            findings.push(CheckResult::check_failed("-", "token", format!("{error:#}")).with_fix(fix));
        }
    }
    let broken = findings
        .iter()
        .filter(|finding| finding.grade == Severity::Broken);
    let broken = broken.count();
    if command.json {
        println!("{:#}", json!({ "broken": broken, "findings": findings }));
    } else {
        findings.iter().for_each(print_result);
    }
    if broken > 0 {
        bail!("{broken} of {} findings must be mended", findings.len());
    }
    Ok(())
}

/// Returns the command that prints a runbook: a server has no `docs` folder.
fn name_runbook(kind: AlertKind) -> String {
    format!("recado alerts runbook {}", kind.as_str())
}

/// Formats a finding within 80 columns. What goes on stands below its own text.
fn format_finding(finding: &CheckResult) -> String {
    let told = finding.to_string();
    let Some((head, _)) = told.split_once(finding.found.as_str()) else {
        return told;
    };
    let wrap = |head: &str, text: &str| {
        let column = head.chars().count();
        let lines = wrap_text(text, WIDTH.saturating_sub(column).max(TEXT_MIN));
        format!("{head}{}", lines.join(&format!("\n{}", " ".repeat(column))))
    };
    let found = wrap(head, &finding.found);
    let Some(mend) = &finding.mend else {
        return found;
    };
    let arrow = format!("{}→ ", " ".repeat(ADVICE_COLUMN));
    format!("{found}\n{}", wrap(&arrow, mend))
}

/// The fewest columns for a text, beside names that are longer than their columns.
const TEXT_MIN: usize = 30;

/// The column at which advice begins.
const ADVICE_COLUMN: usize = 35;

/// Prints a finding, and its QR code if it has one.
fn print_result(finding: &CheckResult) {
    println!("{}", format_finding(finding));
    let name = &finding.instance;
    let Some(code) = &finding.pairing else { return };
    match qr_code::draw_qr_code(code.expose_secret()) {
        Some(drawn) => println!("\n{name}: WhatsApp on the phone, Linked devices, Link a device:\n\n{drawn}"),
        None => println!("{name}: the QR code is too long to be shown"),
    }
}

async fn check_instances(
    command: &DoctorArguments,
    environment: &CommandEnvironment,
    there: &InstallationClient,
    configured: &InstalledConfiguration,
) -> Result<Vec<CheckResult>> {
    let mut chosen: Vec<&Instance> = Vec::new();
    for name in &command.instances {
        chosen.push(configured.find_instance(name)?);
    }
    if chosen.is_empty() {
        chosen.extend(&configured.document.instances);
    }
    // The webhook settings are read with their secrets, to compare them with the settings at the provider. If the token
    // may not read them, the checks run without secrets.
    let secrets = there.fetch_webhook_secrets(&chosen).await.unwrap_or_default();
    let consent = Consent::new(command.yes);
    let mut findings = match service_checks::fetch_checks(there).await {
        Ok(checks) => {
            let mut findings = service_checks::check_service(&checks);
            for instance in &chosen {
                findings.extend(service_checks::check_keys(&checks, instance));
            }
            findings
        }
        Err(error) => {
            vec![CheckResult::check_failed("-", "checks", format!("{error:#}")).with_fix("see its log")]
        }
    };
    for instance in chosen {
        let name = instance.id.as_str();
        if !configured.is_enabled(instance) {
            let found = "disabled: its webhooks are ignored, and nothing is sent";
            findings.push(CheckResult::check_noted(name, "state", found));
            continue;
        }
        let told = secrets.iter().find(|told| told.id == name);
        let webhook = told.or_else(|| configured.find_webhook(instance));
        findings.extend(installation_checks::check_instance(there, instance, webhook).await);
        let subject = OnboardingTarget {
            http: &there.http,
            config: &environment.providers,
            instance,
            lookup_secret: read_secret_variable,
            now: Timestamp::now,
        };
        match credential::find_credential(instance, command.key.as_deref(), &environment.providers, &consent)
        {
            Ok(key) => findings.extend(recado_onboarding::check_setup(&subject, webhook, &key).await),
            Err(error) => {
                let noted = CheckResult::check_noted(name, "credential", format!("{error:#}"));
                let fix = "run this where the key is, to have the provider asked as well";
                findings.push(noted.with_fix(fix));
            }
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_finding_goes_on_below_its_own_text() {
        let words = "word ".repeat(30);
        let finding = CheckResult::check_noted("suporte-01", "state", words.trim()).with_fix(words.trim());
        let told = format_finding(&finding);
        assert!(told.lines().all(|line| line.chars().count() <= WIDTH), "{told}");
        assert!(
            told.starts_with("note  suporte-01       state       word"),
            "{told}"
        );
        let column = told.find("word").unwrap();
        let second = told.lines().nth(1).unwrap();
        assert_eq!(second.find("word"), Some(column), "{told}");
        let short = CheckResult::check_passed("-", "health", "healthy");
        assert_eq!(format_finding(&short), short.to_string());
    }
}
