//! What Meta says of a number and its account.

use super::finding::Finding;
use super::{Patient, clock};
use recado_whatsapp::ProviderConfig;
use recado_whatsapp::meta::register::{Number, Setup, Template};
use recado_whatsapp::setup::SetupError;

pub(super) async fn examine(patient: &Patient<'_>) -> Vec<Finding> {
    let name = patient.instance.id.as_str();
    let (Some(token), Some(external)) = (&patient.key, patient.instance.external()) else {
        return Vec::new();
    };
    let defaults = ProviderConfig::default();
    let environment = patient.environment;
    let base = patient.instance.base_url.as_ref();
    let at = Setup {
        http: &patient.there.http,
        base: base
            .or(environment.meta_url.as_ref())
            .unwrap_or(&defaults.meta_base_url),
        version: environment
            .meta_version
            .as_ref()
            .unwrap_or(&defaults.meta_api_version),
        token,
    };
    let (number, said) = match at.number(&external).await {
        Ok(answer) => answer,
        Err(error) => return vec![refused(name, &error)],
    };
    let mut findings = vec![Finding::good(name, "credential", "Meta takes the token")];
    findings.push(limits(name, &number));
    findings.push(clock(name, said.date));
    match &patient.instance.account_id {
        Some(account) => findings.extend(self::account(patient, &at, account).await),
        None => findings.push(
            Finding::note(name, "account", "not looked at: the instance has no account_id")
                .mend("give the instance its WABA as account_id"),
        ),
    }
    findings
}

fn refused(name: &str, error: &SetupError) -> Finding {
    let (check, mend) = match error {
        SetupError::Refused { .. } => (
            "credential",
            "make a token of a system user with whatsapp_business_messaging, and set META_ACCESS_TOKEN",
        ),
        SetupError::NotFound { .. } => ("number", "external_id must be Meta's phone_number_id"),
        SetupError::NotUrl | SetupError::Unreachable { .. } | SetupError::Failed { .. } => (
            "provider",
            "is META_BASE_URL right, and may this machine reach it?",
        ),
    };
    Finding::broken(name, check, error.to_string()).mend(mend)
}

fn limits(name: &str, number: &Number) -> Finding {
    let say = |value: &Option<String>| value.as_deref().unwrap_or("not told").to_owned();
    let found = format!(
        "quality {}, limit {}, status {}",
        say(&number.quality),
        say(&number.limit),
        say(&number.status)
    );
    match (number.quality.as_deref(), number.status.as_deref()) {
        (_, Some("BANNED" | "RESTRICTED" | "DELETED" | "DISCONNECTED")) => {
            Finding::broken(name, "limits", found).mend("see the number in Meta's WhatsApp Manager")
        }
        (Some("RED"), _) | (_, Some("FLAGGED" | "RATE_LIMITED")) => Finding::note(name, "limits", found)
            .mend("people block or report this number: write less, and only to who asked for it"),
        _ => Finding::good(name, "limits", found),
    }
}

async fn account(patient: &Patient<'_>, at: &Setup<'_>, account: &str) -> Vec<Finding> {
    let name = patient.instance.id.as_str();
    let needs = "the token needs whatsapp_business_management";
    let apps = match at.subscribed(account).await {
        Ok(apps) if apps.is_empty() => Finding::broken(
            name,
            "webhook",
            "no app is subscribed to the account: no webhook comes",
        )
        .mend(format!("recado connect {name}")),
        Ok(apps) => Finding::good(name, "webhook", format!("subscribed: {}", apps.join(", "))),
        Err(error) => Finding::note(name, "webhook", error.to_string()).mend(needs),
    };
    let templates = match at.templates(account).await {
        Ok(templates) => templates_found(patient, &templates),
        Err(error) => Finding::note(name, "templates", error.to_string()).mend(needs),
    };
    vec![apps, templates]
}

fn templates_found(patient: &Patient<'_>, templates: &[Template]) -> Finding {
    let name = patient.instance.id.as_str();
    let approved = templates
        .iter()
        .filter(|template| template.status == "APPROVED")
        .count();
    let found = format!("{approved} of {} approved", templates.len());
    let Some(wanted) = &patient.instance.reengagement_template else {
        return Finding::good(name, "templates", found);
    };
    let known = templates
        .iter()
        .find(|template| template.name == wanted.name && template.language == wanted.language);
    match known {
        Some(template) if template.status == "APPROVED" => Finding::good(name, "templates", found),
        Some(template) => Finding::broken(
            name,
            "templates",
            format!("reengagement_template {} is {}", wanted.name, template.status),
        )
        .mend("name one that is approved: outside of 24 hours nothing else is sent"),
        None => Finding::broken(
            name,
            "templates",
            format!(
                "there is no reengagement_template {} in {}",
                wanted.name, wanted.language
            ),
        )
        .mend("make it in Meta's WhatsApp Manager, or mend its name and language"),
    }
}
