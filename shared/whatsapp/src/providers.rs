use crate::catalogue::{self, Module, credential};
use crate::config::{ProviderConfig, Simulation};
use crate::simulation::{SimulatedMessage, SimulatedOutbox};
use crate::support::refuses;
use crate::{aws_social, dialog360, evolution, interpret, meta, reach};
use jiff::Timestamp;
use recado_domain::config::{Bound, ConfigError, CredentialRef, Instance};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::event::InboundJob;
use recado_domain::ids::ExternalId;
use recado_domain::inbound::Inbound;
use recado_domain::provider::{Provider, Traits};
use recado_domain::reason::Reason;
use recado_domain::secret::Secret;
use recado_pipeline::ports::{
    Ambient, ConnectionAnswer, Evidence, HistoryError, HistoryPage, OutgoingMessage, Providers, Secrets,
    SendOutcome, Span,
};
use serde_json::Value;
use std::time::Duration;

mod seen;

#[cfg(test)]
mod tests;

/// How long a question may take that is not a send: functions ask on the way, and have little time.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a page of a provider's memory may take.
const HISTORY_TIMEOUT: Duration = Duration::from_secs(10);

/// The providers, over HTTP.
#[derive(Debug, Clone)]
pub struct WhatsApp<S: Secrets, A: Ambient> {
    http: reqwest::Client,
    secrets: S,
    ambient: A,
    config: ProviderConfig,
}

/// What is found where a credential should be.
enum Access {
    Credential(Secret),
    /// AWS's own credentials, which its client finds.
    Aws(aws_social::Client),
    Simulated(SimulatedOutbox),
    Missing(&'static str),
    /// It could not be asked for.
    Unclear,
}

impl<S: Secrets, A: Ambient> WhatsApp<S, A> {
    /// `http` must not follow redirects, which would carry Evolution's key along (`recado_ai::http_client` follows none).
    pub fn new(http: reqwest::Client, secrets: S, ambient: A, config: ProviderConfig) -> Self {
        Self {
            http,
            secrets,
            ambient,
            config,
        }
    }

    async fn access(&self, bound: &Bound) -> Access {
        if Module::of(bound.instance.provider) == Some(Module::AwsSocial) {
            return match &self.config.aws_social {
                Some(client) => Access::Aws(client.clone()),
                None => self.without(aws_social::NO_CLIENT),
            };
        }
        let Some(reference) = self.reference(&bound.instance) else {
            return Access::Missing("its credential or base_url is not one that it may name");
        };
        match self.secrets.resolve(&reference).await {
            Ok(Some(secret)) => Access::Credential(secret),
            Ok(None) => self.without("no credential"),
            Err(_) => Access::Unclear,
        }
    }

    /// The reference to the instance's secret, if it may be read and sent to where the instance says.
    fn reference(&self, instance: &Instance) -> Option<CredentialRef> {
        let module = Module::of(instance.provider)?;
        reach::check_all(module, instance, &self.config).ok()?;
        credential(instance)
    }

    async fn forget(&self, instance: &Instance) {
        if let Some(reference) = credential(instance) {
            self.secrets.forget(&reference).await;
        }
    }

    fn without(&self, why: &'static str) -> Access {
        match &self.config.simulation {
            Simulation::WithoutCredentials(outbox) => Access::Simulated(outbox.clone()),
            Simulation::Off => Access::Missing(why),
        }
    }

    fn evolution<'a>(
        &'a self,
        bound: &'a Bound,
        instance: &'a ExternalId,
        key: &'a Secret,
        timeout: Duration,
    ) -> Option<evolution::Endpoint<'a>> {
        let base = bound
            .instance
            .base_url
            .as_deref()
            .or(self.config.evolution_base_url.as_deref())?;
        Some(evolution::Endpoint {
            http: &self.http,
            base,
            key,
            instance,
            version: bound.instance.api_version,
            timeout,
        })
    }

    fn meta<'a>(
        &'a self,
        bound: &'a Bound,
        phone_number_id: &'a ExternalId,
        token: &'a Secret,
        timeout: Duration,
    ) -> meta::Endpoint<'a> {
        meta::Endpoint {
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

    fn dialog360<'a>(
        &'a self,
        bound: &'a Bound,
        key: &'a Secret,
        timeout: Duration,
    ) -> dialog360::Endpoint<'a> {
        dialog360::Endpoint {
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

    async fn send_by_aws(
        &self,
        bound: &Bound,
        message: &OutgoingMessage,
        client: &aws_social::Client,
    ) -> SendOutcome {
        let Some(number) = bound.instance.external() else {
            return unnamed();
        };
        let endpoint = aws_social::Endpoint {
            client,
            number: &number,
            version: &self.config.aws_social_api_version,
            timeout: self.config.timeout,
        };
        aws_social::send(&endpoint, message).await
    }

    async fn send_with(&self, bound: &Bound, message: &OutgoingMessage, secret: &Secret) -> SendOutcome {
        let Some(external) = bound.instance.external() else {
            return unnamed();
        };
        match Module::of(bound.instance.provider) {
            Some(Module::Evolution) => match self.evolution(bound, &external, secret, self.config.timeout) {
                Some(endpoint) => evolution::send(&endpoint, message).await,
                None => SendOutcome::Credentials {
                    why: "no base URL of Evolution is configured".to_owned(),
                },
            },
            Some(Module::Meta) => {
                let endpoint = self.meta(bound, &external, secret, self.config.timeout);
                meta::send(&endpoint, message).await
            }
            Some(Module::Dialog360) => {
                let endpoint = self.dialog360(bound, secret, self.config.timeout);
                dialog360::send(&endpoint, message).await
            }
            // AWS's own credentials serve, never a secret of ours.
            Some(Module::AwsSocial) => SendOutcome::Credentials {
                why: aws_social::NO_CLIENT.to_owned(),
            },
            None => unnamed(),
        }
    }

    fn simulate(&self, bound: &Bound, message: &OutgoingMessage, outbox: &SimulatedOutbox) -> SendOutcome {
        let id = format!("sim-{:016x}", self.ambient.random());
        outbox.push(SimulatedMessage {
            message_id: message.id.clone(),
            instance_id: bound.instance.id.clone(),
            to: message.to.as_str().to_owned(),
            text: message.content.as_text(),
            provider_message_id: id.clone(),
            sent_at: self.ambient.now(),
        });
        SendOutcome::Accepted {
            provider_message_id: Some(id),
            simulated: true,
        }
    }
}

/// A valid configuration gives every instance a name that its provider can have.
fn unnamed() -> SendOutcome {
    SendOutcome::Permanent {
        reason: Reason::UnknownInstance,
        why: "the instance has no name at the provider".to_owned(),
    }
}

impl<S: Secrets, A: Ambient> Providers for WhatsApp<S, A> {
    fn traits(&self, provider: Provider) -> Traits {
        catalogue::traits(provider).unwrap_or(Traits::LINKED)
    }

    fn adopt(&self, instance: Instance) -> Result<Instance, ConfigError> {
        let instance = catalogue::adopt(instance)?;
        if let Some(module) = Module::of(instance.provider) {
            reach::check_all(module, &instance, &self.config)?;
        }
        Ok(instance)
    }

    fn interpret(&self, job: &InboundJob, payload: &Value) -> Inbound {
        interpret(job, payload)
    }

    fn refuses(&self, provider: Provider, content: &Content) -> Option<&'static str> {
        refuses(provider, content)
    }

    async fn send(&self, bound: &Bound, message: &OutgoingMessage) -> SendOutcome {
        let outcome = match self.access(bound).await {
            Access::Credential(secret) => self.send_with(bound, message, &secret).await,
            Access::Aws(client) => return self.send_by_aws(bound, message, &client).await,
            Access::Simulated(outbox) => return self.simulate(bound, message, &outbox),
            Access::Missing(why) => return SendOutcome::Credentials { why: why.to_owned() },
            Access::Unclear => {
                let why = "the credential could not be read".to_owned();
                return SendOutcome::Unreached { why };
            }
        };
        if matches!(outcome, SendOutcome::Credentials { .. }) {
            // It may have been renewed where it is kept: the next attempt reads it anew.
            self.forget(&bound.instance).await;
        }
        outcome
    }

    async fn connection(&self, bound: &Bound) -> ConnectionAnswer {
        let secret = match self.access(bound).await {
            Access::Credential(secret) => secret,
            Access::Simulated(_) => return ConnectionAnswer::Open,
            // There is no connection that could be lost; what AWS refuses, it refuses to a send.
            Access::Aws(client) => {
                let timeout = self.config.timeout.min(QUESTION_TIMEOUT);
                return aws_social::connection(&client, timeout).await;
            }
            Access::Missing(_) => return ConnectionAnswer::NeedsCredentials,
            Access::Unclear => return ConnectionAnswer::Unclear,
        };
        let Some(external) = bound.instance.external() else {
            return ConnectionAnswer::Unclear;
        };
        let timeout = self.config.timeout.min(QUESTION_TIMEOUT);
        let answer = match Module::of(bound.instance.provider) {
            Some(Module::Meta) => meta::connection(&self.meta(bound, &external, &secret, timeout)).await,
            Some(Module::Dialog360) => dialog360::connection(&self.dialog360(bound, &secret, timeout)).await,
            Some(Module::AwsSocial) | None => return ConnectionAnswer::Unclear,
            Some(Module::Evolution) => match self.evolution(bound, &external, &secret, timeout) {
                Some(endpoint) => evolution::connection(&endpoint).await,
                None => return ConnectionAnswer::NeedsCredentials,
            },
        };
        if answer == ConnectionAnswer::NeedsCredentials {
            self.forget(&bound.instance).await;
        }
        answer
    }

    async fn evidence(
        &self,
        bound: &Bound,
        message: &OutgoingMessage,
        also: &[ContactAddress],
        claimed_at: Timestamp,
    ) -> Evidence {
        let secret = match self.access(bound).await {
            Access::Credential(secret) => secret,
            Access::Simulated(outbox) => {
                let taken = outbox
                    .list()
                    .into_iter()
                    .find(|taken| taken.message_id == message.id);
                return taken.map_or(Evidence::None, |taken| Evidence::Sent {
                    provider_message_id: Some(taken.provider_message_id),
                });
            }
            Access::Aws(_) => return Evidence::None,
            Access::Missing(_) | Access::Unclear => return Evidence::Unclear,
        };
        // Meta cannot be asked. It echoes our id in statuses, and the pipeline looks at their record.
        if Module::of(bound.instance.provider) != Some(Module::Evolution) {
            return Evidence::None;
        }
        let Some(external) = bound.instance.external() else {
            return Evidence::Unclear;
        };
        let Some(endpoint) = self.evolution(bound, &external, &secret, self.config.timeout) else {
            return Evidence::Unclear;
        };
        evolution::evidence(endpoint, message, also, claimed_at).await
    }

    async fn seen(&self, bound: &Bound, id: &str, address: &ContactAddress, typing: bool) {
        seen::seen(self, bound, id, address, typing).await;
    }

    async fn history(&self, bound: &Bound, span: Span, page: u32) -> Result<HistoryPage, HistoryError> {
        // Meta repeats webhooks for seven days and has nothing to ask for what it gave up.
        if Module::of(bound.instance.provider) != Some(Module::Evolution) {
            return Err(HistoryError::NotOffered);
        }
        let secret = match self.access(bound).await {
            Access::Credential(secret) => secret,
            Access::Simulated(_) | Access::Aws(_) => return Err(HistoryError::NotOffered),
            Access::Missing(_) => return Err(HistoryError::Credentials),
            Access::Unclear => {
                let why = "the credential could not be read";
                return Err(HistoryError::Unavailable { why });
            }
        };
        let Some(external) = bound.instance.external() else {
            let why = "the instance has no name at the provider";
            return Err(HistoryError::Unavailable { why });
        };
        let timeout = self.config.timeout.min(HISTORY_TIMEOUT);
        let Some(endpoint) = self.evolution(bound, &external, &secret, timeout) else {
            return Err(HistoryError::Credentials);
        };
        let page = evolution::history(&endpoint, span, page, self.ambient.now()).await;
        if page
            .as_ref()
            .is_err_and(|error| *error == HistoryError::Credentials)
        {
            self.forget(&bound.instance).await;
        }
        page
    }
}
