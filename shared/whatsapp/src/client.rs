//! The client of all providers: decides with which credential an instance is called, and calls its endpoint.

use crate::aws_social;
use crate::config::{ProviderConfig, Simulation};
use crate::credential_policy::{check_with_installation, find_credential_ref, find_host_reach, normalize};
use crate::registry::{
    ProviderEndpoint, credential_variable, explain_refusal, interpret_event, is_sent_as_text,
};
use crate::simulation::{SimulatedMessage, SimulatedOutbox};
use crate::wire::template_lookup::TemplateAnswers;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::{ConfigError, CredentialRef, Instance, InstanceConfig};
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, MessageTemplate};
use recado_domain::event::InboundJob;
use recado_domain::ids::ExternalId;
use recado_domain::inbound::InboundEvent;
use recado_domain::instance::SeenStanding;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use recado_http_client::HostReach;
use recado_ports::ports::{
    ConnectionAnswer, CredentialState, FetchedFile, FileError, FileRequest, HistoryError, HistoryPage,
    HistorySpan, OutgoingMessage, PictureAnswer, Providers, Secrets, SendEvidence, SendOutcome, System,
    TemplateAnswer, UnacknowledgedSend,
};
use refusal::{refuse_other_end, unknown_instance_outcome};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

mod files;
mod questions;
mod refusal;
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
    config: Arc<ProviderConfig>,
    templates: TemplateAnswers,
    /// Client that connects to public addresses only, for files and for hosts that tenants' tokens named.
    public: Option<reqwest::Client>,
}

/// The way in which an instance's messages can be sent.
enum ProviderAccess {
    /// With this secret; `None`: with credentials that the provider's client finds itself.
    Granted(Option<Secret>),
    Simulated(SimulatedOutbox),
    /// With none, for this reason.
    Missing(String),
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
            config: Arc::new(config),
            templates: TemplateAnswers::default(),
            public: None,
        }
    }

    async fn resolve_access(&self, instance: &Instance) -> ProviderAccess {
        if credential_variable(instance.provider).is_none() {
            return match &self.config.aws_social {
                Some(_) => ProviderAccess::Granted(None),
                None => self.access_without_credential(aws_social::NO_CLIENT.to_owned()),
            };
        }
        let Some(reference) = self.allowed_credential_ref(instance) else {
            let why = "its credential or base_url is not one that it may name";
            return ProviderAccess::Missing(why.to_owned());
        };
        match self.secrets.resolve_secret(&reference).await {
            Ok(Some(secret)) => ProviderAccess::Granted(Some(secret)),
            Ok(None) => self.access_without_credential(reference.describe_missing()),
            Err(_) => ProviderAccess::Unclear,
        }
    }

    /// Returns the reference to the instance's secret. `None`: the secret may not be read, or may not be sent to the
    /// instance's URL.
    fn allowed_credential_ref(&self, instance: &Instance) -> Option<CredentialRef> {
        check_with_installation(instance, &self.config).ok()?;
        find_credential_ref(instance)
    }

    async fn forget_credential(&self, instance: &Instance) {
        if let Some(reference) = find_credential_ref(instance) {
            self.secrets.forget_secret(&reference).await;
        }
    }

    fn access_without_credential(&self, why: String) -> ProviderAccess {
        match &self.config.simulation {
            Simulation::WithoutCredentials(outbox) => ProviderAccess::Simulated(outbox.clone()),
            Simulation::Off => ProviderAccess::Missing(why),
        }
    }

    /// Returns the client for requests to an instance's host. The error says that there is none for public hosts.
    fn client_for(&self, instance: &Instance) -> Result<&reqwest::Client, &'static str> {
        match find_host_reach(instance, &self.config) {
            HostReach::Private => Ok(&self.http),
            HostReach::Public => self.public.as_ref().ok_or("there is no client for public hosts"),
        }
    }

    /// Returns the endpoint of an instance. The error names the missing setting.
    fn endpoint<'a>(
        &'a self,
        instance: &'a Instance,
        external: &'a ExternalId,
        secret: Option<&'a Secret>,
        timeout: Duration,
    ) -> Result<ProviderEndpoint<'a>, &'static str> {
        let http = self.client_for(instance)?;
        ProviderEndpoint::for_instance(http, &self.config, instance, external, secret, timeout)
    }

    async fn send_to_endpoint(
        &self,
        bound: &InstanceConfig,
        message: &OutgoingMessage,
        secret: Option<&Secret>,
    ) -> SendOutcome {
        let Some(external) = bound.instance.resolve_external_id() else {
            return unknown_instance_outcome();
        };
        match self.endpoint(&bound.instance, &external, secret, self.config.timeout) {
            Ok(endpoint) => endpoint.send_message(message).await,
            Err(why) => SendOutcome::Credentials { why: why.to_owned() },
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
            held: None,
        }
    }
}

#[async_trait]
impl<S: Secrets, A: System> Providers for WhatsApp<S, A> {
    fn sends_as_text(&self, instance: &Instance, question: &Content) -> bool {
        is_sent_as_text(instance, question)
    }

    fn normalize(&self, instance: Instance) -> Result<Instance, ConfigError> {
        let instance = normalize(instance)?;
        check_with_installation(&instance, &self.config)?;
        Ok(instance)
    }

    fn interpret_event(&self, job: &InboundJob, payload: &Value) -> InboundEvent {
        interpret_event(job, payload)
    }

    fn explain_refusal(&self, provider: Provider, content: &Content) -> Option<&'static str> {
        explain_refusal(provider, content)
    }

    async fn is_simulated(&self, instance: &Instance) -> bool {
        let allowed = matches!(self.config.simulation, Simulation::WithoutCredentials(_));
        allowed && matches!(self.resolve_access(instance).await, ProviderAccess::Simulated(_))
    }

    async fn check_credential(&self, instance: &Instance) -> CredentialState {
        let secret = match self.resolve_access(instance).await {
            ProviderAccess::Granted(secret) => secret,
            ProviderAccess::Simulated(_) => return CredentialState::Simulated,
            ProviderAccess::Missing(why) => return CredentialState::Missing(why),
            ProviderAccess::Unclear => return CredentialState::Unclear,
        };
        let Some(external) = instance.resolve_external_id() else {
            return CredentialState::Missing("the instance has no name at the provider".to_owned());
        };
        match self.endpoint(instance, &external, secret.as_ref(), self.config.timeout) {
            Ok(_) => CredentialState::Present,
            Err(why) => CredentialState::Missing(why.to_owned()),
        }
    }

    async fn check_secret(&self, reference: &CredentialRef) -> CredentialState {
        self.look_for_secret(reference).await
    }

    async fn send_message(&self, bound: &InstanceConfig, message: &OutgoingMessage) -> SendOutcome {
        let access = self.resolve_access(&bound.instance).await;
        if let Some(refused) = refuse_other_end(&access, message.model) {
            return refused;
        }
        let outcome = match access {
            ProviderAccess::Granted(secret) => self.send_to_endpoint(bound, message, secret.as_ref()).await,
            ProviderAccess::Simulated(outbox) => return self.simulate_send(bound, message, &outbox),
            ProviderAccess::Missing(why) => return SendOutcome::Credentials { why },
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
        self.ask_for_connection(&bound.instance).await
    }

    async fn query_standing(&self, bound: &InstanceConfig) -> Option<SeenStanding> {
        let access = self.find_access(&bound.instance).await?;
        let endpoint = self.question_endpoint(&bound.instance, &access)?;
        endpoint.query_standing().await
    }

    async fn check_template(
        &self,
        bound: &InstanceConfig,
        template: &MessageTemplate,
        age_max: SignedDuration,
    ) -> TemplateAnswer {
        let (instance, now) = (&bound.instance, self.system.now());
        if let Some(kept) = self.templates.find_answer(instance, template, age_max, now) {
            return kept.judge(template);
        }
        let answer = self.fetch_template(instance, template).await;
        let judged = answer.judge(template);
        self.templates.keep_answer(instance, template, answer, now);
        judged
    }

    async fn find_send_evidence(
        &self,
        bound: &InstanceConfig,
        message: &OutgoingMessage,
        also: &[ContactAddress],
        claimed_at: Timestamp,
    ) -> SendEvidence {
        let secret = match self.resolve_access(&bound.instance).await {
            ProviderAccess::Granted(secret) => secret,
            ProviderAccess::Simulated(outbox) => {
                let taken = outbox
                    .list_messages()
                    .into_iter()
                    .find(|taken| taken.message_id == message.id);
                return taken.map_or(SendEvidence::None, |taken| SendEvidence::Sent {
                    provider_message_id: Some(taken.provider_message_id),
                });
            }
            ProviderAccess::Missing(_) | ProviderAccess::Unclear => return SendEvidence::Unclear,
        };
        let Some(external) = bound.instance.resolve_external_id() else {
            return SendEvidence::Unclear;
        };
        match self.endpoint(&bound.instance, &external, secret.as_ref(), self.config.timeout) {
            Ok(endpoint) => endpoint.find_send_evidence(message, also, claimed_at).await,
            Err(_) => SendEvidence::Unclear,
        }
    }

    async fn fetch_picture(&self, bound: &InstanceConfig, address: &ContactAddress) -> PictureAnswer {
        let Some(access) = self.find_access(&bound.instance).await else {
            return PictureAnswer::Unclear;
        };
        match self.question_endpoint(&bound.instance, &access) {
            Some(endpoint) => endpoint.fetch_picture(address).await,
            None => PictureAnswer::Unclear,
        }
    }

    async fn fetch_stored_content(&self, bound: &InstanceConfig, id: &str) -> Option<Content> {
        let access = self.find_access(&bound.instance).await?;
        let endpoint = self.question_endpoint(&bound.instance, &access)?;
        endpoint.fetch_stored_content(id).await
    }

    async fn find_unacknowledged_identity(
        &self,
        bound: &InstanceConfig,
        send: UnacknowledgedSend<'_>,
    ) -> Option<ContactAddress> {
        let access = self.find_access(&bound.instance).await?;
        let endpoint = self.question_endpoint(&bound.instance, &access)?;
        endpoint.find_unacknowledged_identity(send).await
    }

    async fn mark_messages_read(&self, bound: &InstanceConfig, address: &ContactAddress, ids: &[String]) {
        let Some(access) = self.find_access(&bound.instance).await else {
            return;
        };
        if let Some(endpoint) = self.question_endpoint(&bound.instance, &access) {
            endpoint.mark_messages_read(ids, address).await;
        }
    }

    async fn show_typing(&self, bound: &InstanceConfig, address: &ContactAddress, id: &str) {
        let Some(access) = self.find_access(&bound.instance).await else {
            return;
        };
        if let Some(endpoint) = self.question_endpoint(&bound.instance, &access) {
            endpoint.show_typing(id, address).await;
        }
    }

    async fn fetch_file(
        &self,
        bound: &InstanceConfig,
        file: &FileRequest<'_>,
    ) -> Result<FetchedFile, FileError> {
        self.fetch_from_provider(bound, file).await
    }

    async fn read_history_page(
        &self,
        bound: &InstanceConfig,
        span: HistorySpan,
        page: u32,
    ) -> Result<HistoryPage, HistoryError> {
        if !bound.instance.provider.capabilities().has_history {
            return Err(HistoryError::NotOffered);
        }
        let secret = match self.resolve_access(&bound.instance).await {
            ProviderAccess::Granted(secret) => secret,
            ProviderAccess::Simulated(_) => return Err(HistoryError::NotOffered),
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
        let Ok(endpoint) = self.endpoint(&bound.instance, &external, secret.as_ref(), timeout) else {
            return Err(HistoryError::Credentials);
        };
        let page = endpoint.read_history_page(span, page, self.system.now()).await;
        if page
            .as_ref()
            .is_err_and(|error| *error == HistoryError::Credentials)
        {
            self.forget_credential(&bound.instance).await;
        }
        page
    }
}
