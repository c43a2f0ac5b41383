use crate::config::{ProviderConfig, Simulation};
use crate::registry::{self, ProviderModule, find_credential_ref};
use crate::simulation::{SimulatedMessage, SimulatedOutbox};
use crate::support::explain_refusal;
use crate::{aws_social, credential_policy, dialog360, evolution, interpret_event, meta};
use jiff::Timestamp;
use recado_domain::config::{ConfigError, CredentialRef, Instance, InstanceConfig};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::event::InboundJob;
use recado_domain::ids::ExternalId;
use recado_domain::inbound::InboundEvent;
use recado_domain::provider::{Provider, ProviderCapabilities};
use recado_domain::reason::Reason;
use recado_domain::secret::Secret;
use recado_pipeline::ports::{
    ConnectionAnswer, HistoryError, HistoryPage, HistorySpan, OutgoingMessage, Providers, Secrets,
    SendEvidence, SendOutcome, System,
};
use serde_json::Value;
use std::time::Duration;

mod read_receipt;

#[cfg(test)]
mod tests;

/// Time limit of a request that is not a send. It is short, because Lambda functions make such requests while they do
/// other work.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit of a request for a page of a provider's history.
const HISTORY_TIMEOUT: Duration = Duration::from_secs(10);

/// The client of all WhatsApp providers, over HTTP.
#[derive(Debug, Clone)]
pub struct WhatsApp<S: Secrets, A: System> {
    http: reqwest::Client,
    secrets: S,
    system: A,
    config: ProviderConfig,
}

/// The way in which an instance's messages can be sent.
enum ProviderAccess {
    Credential(Secret),
    /// Client that uses AWS's own credentials.
    Aws(aws_social::AwsSocialClient),
    Simulated(SimulatedOutbox),
    Missing(&'static str),
    /// The credential could not be read.
    Unclear,
}

impl<S: Secrets, A: System> WhatsApp<S, A> {
    /// Creates the client. `http` must not follow redirects, which would carry Evolution's key to another host
    /// (`recado_http_client` makes one that follows none).
    pub fn new(http: reqwest::Client, secrets: S, system: A, config: ProviderConfig) -> Self {
        Self {
            http,
            secrets,
            system,
            config,
        }
    }

    async fn resolve_access(&self, bound: &InstanceConfig) -> ProviderAccess {
        if ProviderModule::from_provider(bound.instance.provider) == Some(ProviderModule::AwsSocial) {
            return match &self.config.aws_social {
                Some(client) => ProviderAccess::Aws(client.clone()),
                None => self.access_without_credential(aws_social::NO_CLIENT),
            };
        }
        let Some(reference) = self.allowed_credential_ref(&bound.instance) else {
            return ProviderAccess::Missing("its credential or base_url is not one that it may name");
        };
        match self.secrets.resolve_secret(&reference).await {
            Ok(Some(secret)) => ProviderAccess::Credential(secret),
            Ok(None) => self.access_without_credential("no credential"),
            Err(_) => ProviderAccess::Unclear,
        }
    }

    /// Returns the reference to the instance's secret; `None` if the secret may not be read, or may not be sent to the
    /// instance's URL.
    fn allowed_credential_ref(&self, instance: &Instance) -> Option<CredentialRef> {
        let module = ProviderModule::from_provider(instance.provider)?;
        credential_policy::check_with_installation(module, instance, &self.config).ok()?;
        find_credential_ref(instance)
    }

    async fn forget_credential(&self, instance: &Instance) {
        if let Some(reference) = find_credential_ref(instance) {
            self.secrets.forget_secret(&reference).await;
        }
    }

    fn access_without_credential(&self, why: &'static str) -> ProviderAccess {
        match &self.config.simulation {
            Simulation::WithoutCredentials(outbox) => ProviderAccess::Simulated(outbox.clone()),
            Simulation::Off => ProviderAccess::Missing(why),
        }
    }

    fn evolution_endpoint<'a>(
        &'a self,
        bound: &'a InstanceConfig,
        instance: &'a ExternalId,
        key: &'a Secret,
        timeout: Duration,
    ) -> Option<evolution::EvolutionEndpoint<'a>> {
        let base = bound
            .instance
            .base_url
            .as_deref()
            .or(self.config.evolution_base_url.as_deref())?;
        Some(evolution::EvolutionEndpoint {
            http: &self.http,
            base,
            key,
            instance,
            version: bound.instance.api_version,
            timeout,
        })
    }

    fn meta_endpoint<'a>(
        &'a self,
        bound: &'a InstanceConfig,
        phone_number_id: &'a ExternalId,
        token: &'a Secret,
        timeout: Duration,
    ) -> meta::MetaEndpoint<'a> {
        meta::MetaEndpoint {
            http: &self.http,
            base: bound
                .instance
                .base_url
                .as_deref()
                .unwrap_or(&self.config.meta_base_url),
            version: &self.config.meta_api_version,
            token,
            phone_number_id,
            timeout,
        }
    }

    fn dialog360_endpoint<'a>(
        &'a self,
        bound: &'a InstanceConfig,
        key: &'a Secret,
        timeout: Duration,
    ) -> dialog360::Dialog360Endpoint<'a> {
        dialog360::Dialog360Endpoint {
            http: &self.http,
            base: bound
                .instance
                .base_url
                .as_deref()
                .unwrap_or(&self.config.dialog360_base_url),
            key,
            timeout,
        }
    }

    async fn send_via_aws(
        &self,
        bound: &InstanceConfig,
        message: &OutgoingMessage,
        client: &aws_social::AwsSocialClient,
    ) -> SendOutcome {
        let Some(number) = bound.instance.resolve_external_id() else {
            return unknown_instance_outcome();
        };
        let endpoint = aws_social::AwsSocialEndpoint {
            client,
            number: &number,
            version: &self.config.aws_social_api_version,
            timeout: self.config.timeout,
        };
        aws_social::send_message(&endpoint, message).await
    }

    async fn send_with_credential(
        &self,
        bound: &InstanceConfig,
        message: &OutgoingMessage,
        secret: &Secret,
    ) -> SendOutcome {
        let Some(external) = bound.instance.resolve_external_id() else {
            return unknown_instance_outcome();
        };
        match ProviderModule::from_provider(bound.instance.provider) {
            Some(ProviderModule::Evolution) => {
                match self.evolution_endpoint(bound, &external, secret, self.config.timeout) {
                    Some(endpoint) => evolution::send_message(&endpoint, message).await,
                    None => SendOutcome::Credentials {
                        why: "no base URL of Evolution is configured".to_owned(),
                    },
                }
            }
            Some(ProviderModule::Meta) => {
                let endpoint = self.meta_endpoint(bound, &external, secret, self.config.timeout);
                meta::send_message(&endpoint, message).await
            }
            Some(ProviderModule::Dialog360) => {
                let endpoint = self.dialog360_endpoint(bound, secret, self.config.timeout);
                dialog360::send_message(&endpoint, message).await
            }
            // AWS's own credentials are used, never a secret of Recado's.
            Some(ProviderModule::AwsSocial) => SendOutcome::Credentials {
                why: aws_social::NO_CLIENT.to_owned(),
            },
            None => unknown_instance_outcome(),
        }
    }

    fn simulate_send(
        &self,
        bound: &InstanceConfig,
        message: &OutgoingMessage,
        outbox: &SimulatedOutbox,
    ) -> SendOutcome {
        let id = format!("sim-{:016x}", self.system.random_u64());
        outbox.add_message(SimulatedMessage {
            message_id: message.id.clone(),
            instance_id: bound.instance.id.clone(),
            to: message.to.as_str().to_owned(),
            text: message.content.render_text(),
            provider_message_id: id.clone(),
            sent_at: self.system.now(),
        });
        SendOutcome::Accepted {
            provider_message_id: Some(id),
            simulated: true,
        }
    }
}

/// Returns a permanent failure. With a valid configuration it does not occur: every instance then has a valid name at
/// its provider.
fn unknown_instance_outcome() -> SendOutcome {
    SendOutcome::Permanent {
        reason: Reason::UnknownInstance,
        why: "the instance has no name at the provider".to_owned(),
    }
}

impl<S: Secrets, A: System> Providers for WhatsApp<S, A> {
    fn capabilities(&self, provider: Provider) -> ProviderCapabilities {
        registry::capabilities(provider).unwrap_or(ProviderCapabilities::LINKED_DEVICE)
    }

    fn normalize(&self, instance: Instance) -> Result<Instance, ConfigError> {
        let instance = registry::normalize(instance)?;
        if let Some(module) = ProviderModule::from_provider(instance.provider) {
            credential_policy::check_with_installation(module, &instance, &self.config)?;
        }
        Ok(instance)
    }

    fn interpret_event(&self, job: &InboundJob, payload: &Value) -> InboundEvent {
        interpret_event(job, payload)
    }

    fn explain_refusal(&self, provider: Provider, content: &Content) -> Option<&'static str> {
        explain_refusal(provider, content)
    }

    async fn send_message(&self, bound: &InstanceConfig, message: &OutgoingMessage) -> SendOutcome {
        let outcome = match self.resolve_access(bound).await {
            ProviderAccess::Credential(secret) => self.send_with_credential(bound, message, &secret).await,
            ProviderAccess::Aws(client) => return self.send_via_aws(bound, message, &client).await,
            ProviderAccess::Simulated(outbox) => return self.simulate_send(bound, message, &outbox),
            ProviderAccess::Missing(why) => return SendOutcome::Credentials { why: why.to_owned() },
            ProviderAccess::Unclear => {
                let why = "the credential could not be read".to_owned();
                return SendOutcome::Unreached { why };
            }
        };
        if matches!(outcome, SendOutcome::Credentials { .. }) {
            // The key may have been renewed in its store: the next attempt reads it again.
            self.forget_credential(&bound.instance).await;
        }
        outcome
    }

    async fn query_connection(&self, bound: &InstanceConfig) -> ConnectionAnswer {
        let secret = match self.resolve_access(bound).await {
            ProviderAccess::Credential(secret) => secret,
            ProviderAccess::Simulated(_) => return ConnectionAnswer::Open,
            // AWS has no connection that could be lost. A refusal by AWS shows at the next send.
            ProviderAccess::Aws(client) => {
                let timeout = self.config.timeout.min(QUESTION_TIMEOUT);
                return aws_social::fetch_connection(&client, timeout).await;
            }
            ProviderAccess::Missing(_) => return ConnectionAnswer::NeedsCredentials,
            ProviderAccess::Unclear => return ConnectionAnswer::Unclear,
        };
        let Some(external) = bound.instance.resolve_external_id() else {
            return ConnectionAnswer::Unclear;
        };
        let timeout = self.config.timeout.min(QUESTION_TIMEOUT);
        let answer = match ProviderModule::from_provider(bound.instance.provider) {
            Some(ProviderModule::Meta) => {
                meta::fetch_connection(&self.meta_endpoint(bound, &external, &secret, timeout)).await
            }
            Some(ProviderModule::Dialog360) => {
                dialog360::fetch_connection(&self.dialog360_endpoint(bound, &secret, timeout)).await
            }
            Some(ProviderModule::AwsSocial) | None => return ConnectionAnswer::Unclear,
            Some(ProviderModule::Evolution) => {
                match self.evolution_endpoint(bound, &external, &secret, timeout) {
                    Some(endpoint) => evolution::check_connection(&endpoint).await,
                    None => return ConnectionAnswer::NeedsCredentials,
                }
            }
        };
        if answer == ConnectionAnswer::NeedsCredentials {
            self.forget_credential(&bound.instance).await;
        }
        answer
    }

    async fn find_send_evidence(
        &self,
        bound: &InstanceConfig,
        message: &OutgoingMessage,
        also: &[ContactAddress],
        claimed_at: Timestamp,
    ) -> SendEvidence {
        let secret = match self.resolve_access(bound).await {
            ProviderAccess::Credential(secret) => secret,
            ProviderAccess::Simulated(outbox) => {
                let taken = outbox
                    .list_messages()
                    .into_iter()
                    .find(|taken| taken.message_id == message.id);
                return taken.map_or(SendEvidence::None, |taken| SendEvidence::Sent {
                    provider_message_id: Some(taken.provider_message_id),
                });
            }
            ProviderAccess::Aws(_) => return SendEvidence::None,
            ProviderAccess::Missing(_) | ProviderAccess::Unclear => return SendEvidence::Unclear,
        };
        // Meta cannot be asked. Meta sends Recado's message id back in statuses, and the pipeline looks for these in the
        // record.
        if ProviderModule::from_provider(bound.instance.provider) != Some(ProviderModule::Evolution) {
            return SendEvidence::None;
        }
        let Some(external) = bound.instance.resolve_external_id() else {
            return SendEvidence::Unclear;
        };
        let Some(endpoint) = self.evolution_endpoint(bound, &external, &secret, self.config.timeout) else {
            return SendEvidence::Unclear;
        };
        evolution::find_send_evidence(endpoint, message, also, claimed_at).await
    }

    async fn mark_read_and_typing(
        &self,
        bound: &InstanceConfig,
        id: &str,
        address: &ContactAddress,
        typing: bool,
    ) {
        read_receipt::mark_read_and_typing(self, bound, id, address, typing).await;
    }

    async fn read_history_page(
        &self,
        bound: &InstanceConfig,
        span: HistorySpan,
        page: u32,
    ) -> Result<HistoryPage, HistoryError> {
        // Meta repeats webhooks for seven days. Afterwards it has no history that could be read.
        if ProviderModule::from_provider(bound.instance.provider) != Some(ProviderModule::Evolution) {
            return Err(HistoryError::NotOffered);
        }
        let secret = match self.resolve_access(bound).await {
            ProviderAccess::Credential(secret) => secret,
            ProviderAccess::Simulated(_) | ProviderAccess::Aws(_) => return Err(HistoryError::NotOffered),
            ProviderAccess::Missing(_) => return Err(HistoryError::Credentials),
            ProviderAccess::Unclear => {
                let why = "the credential could not be read";
                return Err(HistoryError::Unavailable { why });
            }
        };
        let Some(external) = bound.instance.resolve_external_id() else {
            let why = "the instance has no name at the provider";
            return Err(HistoryError::Unavailable { why });
        };
        let timeout = self.config.timeout.min(HISTORY_TIMEOUT);
        let Some(endpoint) = self.evolution_endpoint(bound, &external, &secret, timeout) else {
            return Err(HistoryError::Credentials);
        };
        let page = evolution::read_history_page(&endpoint, span, page, self.system.now()).await;
        if page
            .as_ref()
            .is_err_and(|error| *error == HistoryError::Credentials)
        {
            self.forget_credential(&bound.instance).await;
        }
        page
    }
}
