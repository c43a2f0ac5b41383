//! Questions to providers beside the messages: connections, templates, and secrets.

use super::{ProviderAccess, QUESTION_TIMEOUT, WhatsApp};
use crate::config::Simulation;
use crate::registry::ProviderEndpoint;
use crate::wire::template_lookup::TemplateLookup;
use recado_domain::config::{CredentialRef, Instance};
use recado_domain::content::MessageTemplate;
use recado_domain::ids::ExternalId;
use recado_domain::secret::Secret;
use recado_ports::ports::{ConnectionAnswer, CredentialState, Secrets, System};

impl<S: Secrets, A: System> WhatsApp<S, A> {
    /// Returns an instance's secret and its name at the provider. `None` if there is no access, or a simulated one.
    pub(super) async fn find_access(&self, instance: &Instance) -> Option<(Option<Secret>, ExternalId)> {
        match (
            self.resolve_access(instance).await,
            instance.resolve_external_id(),
        ) {
            (ProviderAccess::Granted(secret), Some(external)) => Some((secret, external)),
            _ => None,
        }
    }

    /// Returns the endpoint for a request that is not a send; `None` if a setting is missing.
    pub(super) fn question_endpoint<'a>(
        &'a self,
        instance: &'a Instance,
        (secret, external): &'a (Option<Secret>, ExternalId),
    ) -> Option<ProviderEndpoint<'a>> {
        let timeout = self.config.timeout.min(QUESTION_TIMEOUT);
        self.endpoint(instance, external, secret.as_ref(), timeout).ok()
    }

    pub(super) async fn fetch_template(
        &self,
        instance: &Instance,
        wanted: &MessageTemplate,
    ) -> TemplateLookup {
        let Some(access) = self.find_access(instance).await else {
            return TemplateLookup::Unclear;
        };
        let Some(endpoint) = self.question_endpoint(instance, &access) else {
            return TemplateLookup::Unclear;
        };
        endpoint
            .fetch_template(instance.account_id.as_deref(), wanted)
            .await
    }

    /// Asks for the state of an instance's connection.
    pub(super) async fn ask_for_connection(&self, instance: &Instance) -> ConnectionAnswer {
        let secret = match self.resolve_access(instance).await {
            ProviderAccess::Granted(secret) => secret,
            ProviderAccess::Simulated(_) => return ConnectionAnswer::Open,
            ProviderAccess::Missing(_) => return ConnectionAnswer::NeedsCredentials,
            ProviderAccess::Unclear => return ConnectionAnswer::Unclear,
        };
        let Some(external) = instance.resolve_external_id() else {
            return ConnectionAnswer::Unclear;
        };
        let timeout = self.config.timeout.min(QUESTION_TIMEOUT);
        let Ok(endpoint) = self.endpoint(instance, &external, secret.as_ref(), timeout) else {
            return ConnectionAnswer::NeedsCredentials;
        };
        let answer = endpoint.query_connection().await;
        if answer == ConnectionAnswer::NeedsCredentials {
            self.forget_credential(instance).await;
        }
        answer
    }

    /// Looks for a secret. In a simulation one that is missing is not needed.
    pub(super) async fn look_for_secret(&self, reference: &CredentialRef) -> CredentialState {
        match (
            self.secrets.resolve_secret(reference).await,
            &self.config.simulation,
        ) {
            (Ok(Some(_)), _) => CredentialState::Present,
            (Ok(None), Simulation::WithoutCredentials(_)) => CredentialState::Simulated,
            (Ok(None), Simulation::Off) => CredentialState::Missing(reference.describe_missing()),
            (Err(_), _) => CredentialState::Unclear,
        }
    }
}
