//! What Evolution says of an instance.

use super::finding::Finding;
use super::{Patient, clock, qr};
use recado_domain::secret::Secret;
use recado_whatsapp::evolution::register::{Paired, ProvenBy, Setup, Wanted};
use recado_whatsapp::setup::SetupError;

pub(super) async fn examine(patient: &Patient<'_>) -> Vec<Finding> {
    let name = patient.instance.id.as_str();
    let base = patient.instance.base_url.as_ref();
    let base = base.or(patient.environment.evolution_url.as_ref());
    let (Some(base), Some(key), Some(external)) = (base, &patient.key, patient.instance.external()) else {
        let found = Finding::note(name, "provider", "not asked: no base URL is known here");
        return vec![found.mend("set EVOLUTION_API_URL here, or base_url of the instance")];
    };
    let at = Setup {
        http: &patient.there.http,
        base,
        key,
        instance: &external,
        version: patient.instance.api_version,
    };
    let (paired, said) = match at.connection().await {
        Ok(answer) => answer,
        Err(error) => return vec![refused(name, &error)],
    };
    let mut findings = vec![Finding::good(name, "credential", "Evolution takes the key")];
    findings.extend(connection(patient, &at, &paired).await);
    findings.push(webhook(patient, &at).await);
    findings.push(clock(name, said.date));
    findings
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

async fn connection(patient: &Patient<'_>, at: &Setup<'_>, paired: &Paired) -> Vec<Finding> {
    let name = patient.instance.id.as_str();
    match paired {
        Paired::Open => return vec![Finding::good(name, "connection", "open")],
        Paired::Unclear => {
            let found = Finding::note(
                name,
                "connection",
                "Evolution does not say, as just after its restart",
            );
            return vec![found.mend("ask again in a minute")];
        }
        Paired::Connecting | Paired::Closed => {}
    }
    let found = Finding::broken(
        name,
        "connection",
        "not connected to WhatsApp: a phone must be paired",
    );
    let code = match at.pairing().await {
        Ok(pairing) => pairing,
        Err(error) => {
            return vec![found.mend(format!(
                "Evolution gives no QR code ({error}): restart the instance there"
            ))];
        }
    };
    if let Some(code) = code.code.as_deref().filter(|_| patient.shows) {
        match qr::drawn(code) {
            Some(drawn) => {
                println!("{name}: WhatsApp on the phone, Linked devices, Link a device:\n\n{drawn}");
            }
            None => println!("{name}: the QR code is too long to be shown"),
        }
    }
    let found = match (code.code, code.pairing_code) {
        (None, None) => found.mend("wait a minute and run this again for a QR code"),
        (_, Some(words)) => found.mend(format!("link the phone by the code {words}, or by the QR code")),
        (Some(_), None) => found.mend("scan the QR code (recado doctor shows it), then run this again"),
    };
    vec![found]
}

async fn webhook(patient: &Patient<'_>, at: &Setup<'_>) -> Finding {
    let name = patient.instance.id.as_str();
    let mend = format!("recado connect {name}");
    let found = match at.find_webhook().await {
        Ok(Some(found)) => found,
        Ok(None) => return Finding::broken(name, "webhook", "none is set").mend(mend),
        Err(error) => return Finding::broken(name, "webhook", error.to_string()).mend(mend),
    };
    let told = patient
        .webhook
        .and_then(|webhook| Some((webhook, Secret::new(webhook.secret.as_deref()?)?)));
    let Some((webhook, secret)) = told else {
        return Finding::note(
            name,
            "webhook",
            "set, but the installation does not tell with which secret it should be",
        );
    };
    let wanted = Wanted {
        url: &webhook.url,
        secret: &secret,
        proven_by: match patient.instance.api_version {
            1 => ProvenBy::Url,
            _ => ProvenBy::Header,
        },
        base64: false,
    };
    let wrong = found.differs(&wanted);
    if !wrong.is_empty() {
        return Finding::broken(name, "webhook", wrong.join("; ")).mend(mend);
    }
    Finding::good(name, "webhook", format!("set ({})", found.events.join(", ")))
}
