//! Sets instances up for the API, with the keys and settings of the process that serves it.

use crate::check_result::{CheckResult, Severity};
use crate::connect::{ConnectError, ConnectOptions, ConnectParameters};
use crate::instance_webhook::InstanceWebhook;
use crate::target::OnboardingTarget;
use jiff::Timestamp;
use recado_domain::config::{CredentialRef, Instance};
use recado_domain::secret::Secret;
use recado_http::{
    PhonePairing, ProviderSetup, SetupAction, SetupAnswer, SetupCheck, SetupError, SetupRequest,
};
use recado_http_client::url_origin;
use recado_ports::ports::Secrets;
use recado_whatsapp::{
    ProviderConfig, check_credential_and_url, find_credential_ref, is_listed_host, uses_installation_host,
};
use reqwest::Client;
use std::sync::Arc;

/// The clients, keys and settings with which a process sets instances up.
#[derive(Debug)]
pub struct SetupService<S> {
    /// HTTP client that follows no redirects.
    pub http: Client,
    /// Settings of the providers, with the installation's own hosts.
    pub config: ProviderConfig,
    /// The instances' keys.
    pub secrets: S,
}

impl<S: Secrets + 'static> SetupService<S> {
    /// Returns the part that the API calls.
    pub fn into_setup(self) -> ProviderSetup {
        let service = Arc::new(self);
        ProviderSetup::new(move |request| {
            let service = Arc::clone(&service);
            Box::pin(async move { service.carry_out(request).await })
        })
    }

    pub(crate) async fn carry_out(&self, request: SetupRequest) -> Result<SetupAnswer, SetupError> {
        let instance = &request.instance;
        self.require_allowed_host(instance)?;
        let key = self.find_instance_key(instance).await?;
        let subject = OnboardingTarget {
            http: &self.http,
            config: &self.config,
            instance,
            lookup_secret: |_| None,
            now: Timestamp::now,
        };
        let webhook = InstanceWebhook {
            id: instance.id.to_string(),
            url: request.webhook.url.clone().unwrap_or_default(),
            secret: request.webhook.secret.clone(),
            secret_header: request.webhook.secret_header.map(str::to_owned),
            proof_set: request.webhook.proof_set,
            verify_token_set: request.webhook.verify_token_set,
        };
        match request.action {
            SetupAction::Connect(wanted) => {
                let options = ConnectOptions {
                    check: false,
                    base64: wanted.base64,
                    token: wanted.jwt,
                    force: wanted.force,
                    typing: wanted.typing,
                    other_senders: wanted.other_senders,
                };
                Ok(connect(&subject, &webhook, key.as_known_or_reason(), options).await)
            }
            SetupAction::Pair => pair(&subject, key.as_known_or_reason()).await,
            SetupAction::Check => Ok(check(&subject, &webhook, key.as_known_or_reason()).await),
        }
    }

    /// Checks that the instance's key may go to its host, and that the answers of that host may be shown. An instance may
    /// name a host of the installation's network, which no tenant should look into.
    fn require_allowed_host(&self, instance: &Instance) -> Result<(), SetupError> {
        check_credential_and_url(instance).map_err(|error| SetupError::Refused(error.to_string()))?;
        let Some(base) = instance.base_url.as_deref() else {
            return Ok(());
        };
        if uses_installation_host(instance, &self.config) {
            return Ok(());
        }
        let has_own_key = |key: &CredentialRef| key.belongs_to_tenant(&instance.tenant);
        if is_listed_host(instance, &self.config) {
            return match &instance.credential {
                Some(key) if has_own_key(key) => Ok(()),
                _ => Err(SetupError::Refused(
                    "the installation's own key is sent to the installation's own host only".to_owned(),
                )),
            };
        }
        let host = url_origin(base).unwrap_or_default();
        Err(SetupError::Refused(format!(
            "{host} is no host at which this installation sets instances up: it must stand in RECADO_ONBOARDING_HOSTS"
        )))
    }

    /// Looks for the key of an instance.
    async fn find_instance_key(&self, instance: &Instance) -> Result<InstanceKey, SetupError> {
        let Some(reference) = find_credential_ref(instance) else {
            return Ok(InstanceKey::Missing(
                "this provider is called with AWS's own credentials: check it with AWS's tools".to_owned(),
            ));
        };
        let found = self.secrets.resolve_secret(&reference).await?;
        Ok(found.map_or_else(
            || InstanceKey::Missing(format!("its key is not there: {}", String::from(reference))),
            InstanceKey::Known,
        ))
    }
}

/// The key of an instance, as it was looked for.
enum InstanceKey {
    Known(Secret),
    /// There is none, for this reason.
    Missing(String),
}

impl InstanceKey {
    fn as_known_or_reason(&self) -> Result<&Secret, &str> {
        match self {
            Self::Known(key) => Ok(key),
            Self::Missing(why) => Err(why),
        }
    }
}

async fn connect(
    subject: &OnboardingTarget<'_>,
    webhook: &InstanceWebhook,
    key: Result<&Secret, &str>,
    options: ConnectOptions,
) -> SetupAnswer {
    let connecting = ConnectParameters {
        webhook,
        key,
        options,
    };
    let mut steps = Vec::new();
    let connected = crate::connect_instance(subject, &connecting, &mut steps).await;
    SetupAnswer {
        steps: steps.iter().map(ToString::to_string).collect(),
        error: connected.err().map(|error| error.to_string()),
        ..SetupAnswer::default()
    }
}

async fn pair(subject: &OnboardingTarget<'_>, key: Result<&Secret, &str>) -> Result<SetupAnswer, SetupError> {
    let key = key.map_err(|why| SetupError::Provider(why.to_owned()))?;
    let paired = crate::pair_phone(subject, key)
        .await
        .map_err(|error| match error {
            ConnectError::NoWebhook(_) | ConnectError::Missing(_) => {
                SetupError::NotOffered(error.to_string())
            }
            error => SetupError::Provider(error.to_string()),
        })?;
    Ok(SetupAnswer {
        pairing: Some(PhonePairing {
            is_open: paired.is_open,
            code: paired.code,
            words: paired.words,
        }),
        ..SetupAnswer::default()
    })
}

async fn check(
    subject: &OnboardingTarget<'_>,
    webhook: &InstanceWebhook,
    key: Result<&Secret, &str>,
) -> SetupAnswer {
    let mut found = crate::setup_state(subject.instance, Some(webhook));
    found.extend(crate::check_rate_limit(subject.instance));
    match key {
        Ok(key) => found.extend(crate::check_setup(subject, Some(webhook), key).await),
        Err(why) => found.push(CheckResult::check_failed(
            subject.instance_name(),
            "credential",
            why.to_owned(),
        )),
    }
    SetupAnswer {
        checks: found.into_iter().map(to_setup_check).collect(),
        ..SetupAnswer::default()
    }
}

fn to_setup_check(found: CheckResult) -> SetupCheck {
    let grade = match found.grade {
        Severity::Good => "good",
        Severity::Note => "note",
        Severity::Broken => "broken",
    };
    SetupCheck {
        check: found.check.to_owned(),
        grade: grade.to_owned(),
        found: found.found,
        mend: found.mend,
    }
}
