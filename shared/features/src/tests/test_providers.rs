//! The providers of a [`crate::tests::Site`]: none is called, or the real clients are.

use crate::tests::stand_ins::NotCalled;
use async_trait::async_trait;
use recado_domain::config::{ConfigError, CredentialRef, Instance, InstanceConfig};
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, MessageTemplate};
use recado_domain::event::InboundJob;
use recado_domain::inbound::InboundEvent;
use recado_domain::instance::SeenStanding;
use recado_domain::provider::{Provider, ProviderCapabilities};
use recado_domain::secret::Secret;
use recado_domain::{SignedDuration, Timestamp};
use recado_embedded::EmbeddedSystem;
use recado_pipeline::ports::{
    ConnectionAnswer, CredentialState, FetchedFile, FileError, FileRequest, HistoryError, HistoryPage,
    HistorySpan, OutgoingMessage, PictureAnswer, PortResult, Providers, Secrets, SendEvidence, SendOutcome,
    TemplateAnswer,
};
use recado_whatsapp::{ProviderConfig, WhatsApp};
use serde_json::Value;
use std::sync::Arc;

/// The secrets that the real clients find.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TestSecrets {
    /// Every name leads to a secret, which says which one it is.
    Every,
    /// Only `env:RECADO_CREDENTIAL_TB_LOST` leads to one.
    Lost,
}

impl Secrets for TestSecrets {
    async fn resolve_secret(&self, reference: &CredentialRef) -> PortResult<Option<Secret>> {
        let lost = CredentialRef::Env("RECADO_CREDENTIAL_TB_LOST".to_owned());
        Ok(match self {
            Self::Every => Secret::new(&String::from(reference.clone())),
            Self::Lost => Secret::new("key").filter(|_| *reference == lost),
        })
    }

    async fn forget_secret(&self, _: &CredentialRef) {}
}

/// The providers of a test: none is called, or the real adapter asks a stand-in.
#[derive(Debug, Clone)]
pub(crate) enum TestProviders {
    NotCalled,
    Real(Arc<WhatsApp<TestSecrets, EmbeddedSystem>>),
}

impl TestProviders {
    pub(crate) fn real(secrets: TestSecrets, config: ProviderConfig) -> Self {
        let http = recado_http_client::build_http_client().unwrap();
        Self::Real(Arc::new(WhatsApp::new(http, secrets, EmbeddedSystem, config)))
    }
}

/// Calls the method of the providers in force.
macro_rules! call {
    ($providers:ident.$method:ident($($argument:expr),*)) => {
        match $providers {
            TestProviders::NotCalled => NotCalled.$method($($argument),*),
            TestProviders::Real(whatsapp) => whatsapp.$method($($argument),*),
        }
    };
    (await $providers:ident.$method:ident($($argument:expr),*)) => {
        match $providers {
            TestProviders::NotCalled => NotCalled.$method($($argument),*).await,
            TestProviders::Real(whatsapp) => whatsapp.$method($($argument),*).await,
        }
    };
}

#[async_trait]
impl Providers for TestProviders {
    fn capabilities(&self, provider: Provider) -> ProviderCapabilities {
        call!(self.capabilities(provider))
    }

    fn normalize(&self, instance: Instance) -> Result<Instance, ConfigError> {
        call!(self.normalize(instance))
    }

    fn interpret_event(&self, job: &InboundJob, payload: &Value) -> InboundEvent {
        call!(self.interpret_event(job, payload))
    }

    fn explain_refusal(&self, provider: Provider, content: &Content) -> Option<&'static str> {
        call!(self.explain_refusal(provider, content))
    }

    async fn is_simulated(&self, instance: &Instance) -> bool {
        call!(await self.is_simulated(instance))
    }

    fn sends_as_text(&self, instance: &Instance, question: &Content) -> bool {
        call!(self.sends_as_text(instance, question))
    }

    async fn check_credential(&self, instance: &Instance) -> CredentialState {
        call!(await self.check_credential(instance))
    }

    async fn check_secret(&self, reference: &CredentialRef) -> CredentialState {
        call!(await self.check_secret(reference))
    }

    async fn send_message(&self, bound: &InstanceConfig, message: &OutgoingMessage) -> SendOutcome {
        call!(await self.send_message(bound, message))
    }

    async fn query_connection(&self, bound: &InstanceConfig) -> ConnectionAnswer {
        call!(await self.query_connection(bound))
    }

    async fn query_standing(&self, bound: &InstanceConfig) -> Option<SeenStanding> {
        call!(await self.query_standing(bound))
    }

    async fn check_template(
        &self,
        bound: &InstanceConfig,
        template: &MessageTemplate,
        age_max: SignedDuration,
    ) -> TemplateAnswer {
        call!(await self.check_template(bound, template, age_max))
    }

    async fn find_send_evidence(
        &self,
        bound: &InstanceConfig,
        message: &OutgoingMessage,
        also: &[ContactAddress],
        claimed_at: Timestamp,
    ) -> SendEvidence {
        call!(await self.find_send_evidence(bound, message, also, claimed_at))
    }

    async fn mark_messages_read(&self, bound: &InstanceConfig, address: &ContactAddress, ids: &[String]) {
        call!(await self.mark_messages_read(bound, address, ids));
    }

    async fn show_typing(&self, bound: &InstanceConfig, address: &ContactAddress, id: &str) {
        call!(await self.show_typing(bound, address, id));
    }

    async fn fetch_file(
        &self,
        bound: &InstanceConfig,
        file: &FileRequest<'_>,
    ) -> Result<FetchedFile, FileError> {
        call!(await self.fetch_file(bound, file))
    }

    async fn fetch_picture(&self, bound: &InstanceConfig, address: &ContactAddress) -> PictureAnswer {
        call!(await self.fetch_picture(bound, address))
    }

    async fn read_history_page(
        &self,
        bound: &InstanceConfig,
        span: HistorySpan,
        page: u32,
    ) -> Result<HistoryPage, HistoryError> {
        call!(await self.read_history_page(bound, span, page))
    }
}
