//! Contacts that write, and webhooks that are repeated until they are acknowledged.

use crate::audit::Asked;
use crate::chance::SeededRng;
use crate::webhooks::{configured_secret, evolution_text};
use recado_domain::Timestamp;
use recado_domain::provider::Provider;
use reqwest::Client;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a provider waits for the answer to a webhook.
const ANSWER_MAX: Duration = Duration::from_secs(15);

/// The longest pause before a webhook is repeated, in milliseconds.
const REPEAT_MS_MAX: u64 = 400;

/// How many of 100 webhooks come a second time although they were acknowledged.
const COME_TWICE: u64 = 5;

/// Where webhooks are posted, as Evolution does. Its address may change while it is used: a restarted process has another.
#[derive(Debug, Clone)]
pub struct WebhookClient {
    http: Client,
    base: Arc<Mutex<String>>,
    master: String,
    token: String,
    /// The secrets of instances, once they were asked for.
    secrets: Arc<Mutex<BTreeMap<String, String>>>,
}

impl WebhookClient {
    /// The client of the installation at `base`, whose webhook secrets come from `master`. `token` reads its configuration.
    pub fn new(http: Client, base: &str, (master, token): (&str, &str)) -> Self {
        Self {
            http,
            base: Arc::new(Mutex::new(base.to_owned())),
            master: master.to_owned(),
            token: token.to_owned(),
            secrets: Arc::default(),
        }
    }

    /// The webhook secret of an instance; `None` if the installation does not say.
    async fn find_secret(&self, instance: &str) -> Option<String> {
        let known = |known: &BTreeMap<String, String>| known.get(instance).cloned();
        if let Some(secret) = known(&self.secrets.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Some(secret);
        }
        let url = format!("{}/v1/config", self.base());
        let asked = self.http.get(url).bearer_auth(&self.token).timeout(ANSWER_MAX);
        let answer = asked.send().await.ok()?.error_for_status().ok()?;
        let configuration: Value = answer.json().await.ok()?;
        let secret = configured_secret(&self.master, (Provider::Evolution, instance), &configuration);
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.insert(instance.to_owned(), secret.clone());
        Some(secret)
    }

    /// Its address.
    pub fn base(&self) -> String {
        self.base.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Moves it.
    pub fn moved(&self, base: &str) {
        base.clone_into(&mut self.base.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Posts a webhook once; whether it was acknowledged.
    pub async fn post_once(&self, body: &Value) -> bool {
        let base = self.base();
        let instance = body["instance"].as_str().unwrap_or_default();
        let Some(secret) = self.find_secret(instance).await else {
            return false;
        };
        let request = self
            .http
            .post(format!("{base}/webhooks/evolution"))
            .header("apikey", secret)
            .timeout(ANSWER_MAX)
            .json(body);
        request
            .send()
            .await
            .is_ok_and(|answer| answer.status().is_success())
    }

    /// Posts a webhook until it is acknowledged; now and then once more.
    pub async fn post(&self, body: &Value, rng: &mut SeededRng) {
        while !self.post_once(body).await {
            tokio::time::sleep(Duration::from_millis(50 + rng.below(REPEAT_MS_MAX))).await;
        }
        if rng.hits(COME_TWICE) {
            self.post_once(body).await;
        }
    }
}

/// Who writes how much, and when.
#[derive(Debug, Clone)]
pub struct Load {
    seed: u64,
    /// How long all of it takes.
    over: Duration,
    contacts: Vec<Vec<Asked>>,
}

impl Load {
    /// `messages` of `contacts`, who write to the instances in turn, scattered over `over`. Numbers begin at `first`.
    pub fn new(
        seed: u64,
        instances: &[&str],
        first: u64,
        contacts: usize,
        messages: usize,
        over: Duration,
    ) -> Self {
        let mut load: Vec<Vec<Asked>> = vec![Vec::new(); contacts];
        for number in 0..messages {
            let contact = number % contacts;
            let asked = Asked {
                instance: instances[contact % instances.len()].to_owned(),
                number: (first + contact as u64).to_string(),
                id: format!("3EB0{first:014}{contact:05}{:05}", load[contact].len()),
                words: format!("pergunta {contact:05}-{:05}", load[contact].len()),
            };
            load[contact].push(asked);
        }
        Self {
            seed,
            over,
            contacts: load,
        }
    }

    /// Everything that is written, each contact's messages in their order.
    pub fn asked(&self) -> Vec<Asked> {
        self.contacts.iter().flatten().cloned().collect()
    }

    /// Writes all of it. Returns when the last webhook is acknowledged.
    pub async fn run(&self, client: &WebhookClient) {
        let writing = self
            .contacts
            .iter()
            .enumerate()
            .map(|(contact, messages)| self.write(contact, messages, client));
        futures::future::join_all(writing).await;
    }

    /// One contact: a message only after the one before was acknowledged, a third of them in a burst.
    async fn write(&self, contact: usize, messages: &[Asked], client: &WebhookClient) {
        let mut rng = SeededRng::new(self.seed, ("writes", contact));
        let over = u64::try_from(self.over.as_millis()).unwrap_or(u64::MAX);
        // Two of three pauses are taken, and on average half of each: most are done a little before the time is over.
        let pause_max = over * 2 / (messages.len().max(1) as u64);
        for (number, message) in messages.iter().enumerate() {
            if number == 0 || !rng.hits(33) {
                let pause = rng.below(pause_max.min(over));
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            let jid = format!("{}@s.whatsapp.net", message.number);
            let now = Timestamp::now().as_second();
            let body = evolution_text(&message.instance, &jid, &message.id, &message.words, now);
            client.post(&body, &mut rng).await;
        }
    }
}
