//! A simulated customer: posts messages as the provider of a simulated instance would, and waits for their answers.

use crate::installation::InstallationClient;
use crate::json_fields::{find_text, is_field_true, list_items, text_at, text_or_dash};
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_machine::secret_variable::read_secret_variable;
use recado_onboarding::{AuthenticatedWebhook, WebhookCredentials, authenticate, example_webhook};
use recado_whatsapp::SimulatedInbound;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Time between two looks at a message.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The longest time for one webhook.
const POST_TIMEOUT: Duration = Duration::from_secs(10);

/// A customer who writes to a simulated instance.
#[derive(Debug)]
pub(crate) struct SimulatedCustomer {
    there: InstallationClient,
    instance: Instance,
    proofs: WebhookCredentials,
    /// The customer's number, in digits with the country code.
    phone: String,
    name: String,
}

/// A message that was posted.
#[derive(Debug)]
pub(crate) struct PostedMessage {
    /// The message's id at the provider.
    pub(crate) id: String,
    /// The webhook that brought it.
    webhook: AuthenticatedWebhook,
    /// The answer to the webhook, and how long it took.
    pub(crate) taken: TakenWebhook,
}

/// The answer to a webhook.
#[derive(Debug)]
pub(crate) struct TakenWebhook {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) took: Duration,
}

/// The message as it is in the end, with its reply.
#[derive(Debug)]
pub(crate) struct MessageOutcome {
    /// The message, with its `answer`.
    pub(crate) message: Value,
    /// The message that answers it, if there is one.
    pub(crate) reply: Option<Value>,
}

impl SimulatedCustomer {
    /// Finds a simulated instance, of this name or the first one, whose webhooks can be made here.
    pub(crate) async fn find_instance(
        there: InstallationClient,
        wanted: Option<&str>,
        phone: &str,
        name: &str,
    ) -> Result<Self> {
        let configured = there.get_configuration().await?;
        let health = read_instance_health(&there).await?;
        let is_simulated = |instance: &Instance| {
            let id = instance.id.as_str();
            health
                .iter()
                .any(|one| find_text(one, "id") == Some(id) && is_field_true(one, "simulated"))
        };
        let sample = build_sample(phone, name, "", "");
        let can_post = |instance: &Instance| example_webhook(instance, &sample).is_some();
        let instance = match wanted {
            Some(wanted) => configured.find_instance(wanted)?,
            None => configured
                .document
                .enabled_instances()
                .find(|instance| is_simulated(instance) && can_post(instance))
                .context(
                    "no instance is simulated here: recado without a command and without keys simulates",
                )?,
        };
        let id = &instance.id;
        if !is_simulated(instance) {
            bail!(
                "{id} is not simulated: a reply would go to the phone of {phone}. recado try {id} prints the webhook"
            );
        }
        if !can_post(instance) {
            bail!("{id} cannot be written to so: its webhooks are proven by other secrets");
        }
        let mut proofs = WebhookCredentials::new(read_secret_variable);
        there.add_webhook_secrets(&[instance], &mut proofs).await?;
        Ok(Self {
            instance: instance.clone(),
            there,
            proofs,
            phone: phone.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Returns the id of the instance to which the customer writes.
    pub(crate) fn instance_id(&self) -> &str {
        self.instance.id.as_str()
    }

    /// Posts a message of the customer.
    pub(crate) async fn post_message(&self, text: &str) -> Result<PostedMessage> {
        let id = generate_message_id()?;
        let sample = build_sample(&self.phone, &self.name, text, &id);
        let body = example_webhook(&self.instance, &sample).context("the instance has no name")?;
        let webhook = authenticate(self.instance.provider, body, &self.proofs)?;
        let taken = self.post_webhook(&webhook).await?;
        if !(200..300).contains(&taken.status) {
            let why = text_or_dash(&taken.body, "detail");
            bail!("the webhook was answered {}: {why}", taken.status);
        }
        Ok(PostedMessage { id, webhook, taken })
    }

    /// Posts the webhook of a message again, as a provider does that missed the answer.
    pub(crate) async fn repeat_message(&self, posted: &PostedMessage) -> Result<TakenWebhook> {
        self.post_webhook(&posted.webhook).await
    }

    async fn post_webhook(&self, webhook: &AuthenticatedWebhook) -> Result<TakenWebhook> {
        let request = webhook
            .build_request(&self.there.http, &self.there.url)
            .timeout(POST_TIMEOUT);
        let begun = Instant::now();
        let (status, body) = self.there.send_request(request).await?;
        Ok(TakenWebhook {
            status: status.as_u16(),
            body,
            took: begun.elapsed(),
        })
    }

    /// Waits until a message is answered, or until it is told why it is not. `None`: neither came within `limit`.
    pub(crate) async fn wait_for_answer(
        &self,
        posted: &PostedMessage,
        limit: Duration,
    ) -> Result<Option<MessageOutcome>> {
        let look = async {
            let id = self.wait_for_message(&posted.id).await?;
            loop {
                let message = self.there.get_json(&["v1", "messages", &id], &[]).await?;
                if text_at(&message, "/answer/state") != Some("in_work") {
                    return self.read_outcome(message).await;
                }
                tokio::time::sleep(LOOK_INTERVAL).await;
            }
        };
        tokio::time::timeout(limit, look).await.ok().transpose()
    }

    async fn read_outcome(&self, message: Value) -> Result<MessageOutcome> {
        let reply = match text_at(&message, "/answer/message_id") {
            Some(id) => self.there.find_json(&["v1", "messages", id], &[]).await?,
            None => None,
        };
        Ok(MessageOutcome { message, reply })
    }

    /// Waits until the message of this id at the provider is stored, and returns its id here.
    pub(crate) async fn wait_for_message(&self, id: &str) -> Result<String> {
        let query = [
            ("provider_message", id.to_owned()),
            ("instance", self.instance_id().to_owned()),
        ];
        loop {
            let trace = self.there.find_json(&["v1", "trace"], &query).await?;
            let trace = trace.unwrap_or_else(|| json!({}));
            if let Some(id) = text_at(&trace, "/messages/0/id") {
                return Ok(id.to_owned());
            }
            let mut events = list_items(&trace, "events").iter();
            if let Some(event) = events.find(|event| text_or_dash(event, "state") != "pending") {
                let (state, reason) = (text_or_dash(event, "state"), text_or_dash(event, "reason"));
                bail!("the message was not stored: {state} ({reason})");
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }
}

/// Reads the health of each instance. That of an unhealthy installation comes with a 503.
async fn read_instance_health(there: &InstallationClient) -> Result<Vec<Value>> {
    let (status, body) = there.get_answer(&["health", "whatsapp"], &[]).await?;
    if !status.is_success() && body.get("instances").is_none() {
        bail!("{status}: {}", text_or_dash(&body, "detail"));
    }
    Ok(list_items(&body, "instances").to_vec())
}

fn build_sample<'a>(phone: &'a str, name: &'a str, text: &'a str, id: &'a str) -> SimulatedInbound<'a> {
    SimulatedInbound {
        phone,
        name,
        text,
        id,
        at: Timestamp::now(),
    }
}

/// Generates an id as a provider gives one to a message.
fn generate_message_id() -> Result<String> {
    let mut bytes = [0u8; 9];
    getrandom::fill(&mut bytes)
        .map_err(|error| anyhow::anyhow!("the system gave no random bytes: {error}"))?;
    Ok(format!("3EB0{}", hex::encode_upper(bytes)))
}
