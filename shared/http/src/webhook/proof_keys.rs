//! Adds what the configuration knows to the keys that prove a webhook.

use crate::problem::HttpProblem;
use crate::webhook::{UnprovenWebhook, WebhookRoute, WebhookState};
use recado_domain::Timestamp;
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use recado_pipeline::ingest::{find_proving_instance, list_external_ids};
use recado_whatsapp::webhook::WebhookKeys;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl WebhookState {
    /// Adds the secrets of the apps of the numbers that the request names. The configuration says which have one.
    pub(super) async fn add_app_secrets(
        &self,
        (provider, handler): WebhookRoute,
        received: &Arc<UnprovenWebhook>,
        mut keys: Arc<WebhookKeys>,
    ) -> Result<Arc<WebhookKeys>, HttpProblem> {
        let mut known = 0;
        // The numbers of a request are few until it is proven; then the others are looked at, too.
        loop {
            let proving = Arc::clone(&keys);
            let numbers = self
                .run_on(received, move |request| {
                    handler.list_numbers_with_apps(request, &proving)
                })
                .await?;
            if numbers.len() <= known {
                return Ok(keys);
            }
            known = numbers.len();
            let apps = self.read_app_secrets(provider, numbers).await?;
            if apps.is_empty() {
                return Ok(keys);
            }
            keys = Arc::new(keys.with_apps(apps));
        }
    }

    /// Adds the provider's configured numbers, if the request names none and shows a proof.
    pub(super) async fn add_configured_numbers(
        &self,
        (provider, handler): WebhookRoute,
        received: &Arc<UnprovenWebhook>,
        keys: Arc<WebhookKeys>,
    ) -> Result<Arc<WebhookKeys>, HttpProblem> {
        let are_needed = self
            .run_on(received, move |request| handler.needs_configured_numbers(request))
            .await?;
        if !are_needed {
            return Ok(keys);
        }
        let configured = list_external_ids(&self.deps, provider).await?;
        Ok(Arc::new(keys.with_configured_numbers(configured)))
    }

    /// Adds the salt of the instance that the request names, if its proof does not show it.
    pub(super) async fn add_hidden_salt(
        &self,
        (provider, handler): WebhookRoute,
        received: &Arc<UnprovenWebhook>,
        keys: Arc<WebhookKeys>,
        now: Timestamp,
    ) -> Result<Arc<WebhookKeys>, HttpProblem> {
        let owner = self
            .run_on(received, move |request| {
                handler.find_hidden_salt_owner(request, now)
            })
            .await?;
        let Some(owner) = owner else {
            return Ok(keys);
        };
        let bound = find_proving_instance(&self.deps, provider, &owner).await?;
        let salt = bound.and_then(|bound| bound.instance.secret_salt.clone());
        Ok(salt.map_or_else(
            || Arc::clone(&keys),
            |salt| Arc::new(keys.with_salt(owner, salt.value)),
        ))
    }

    /// Reads the secrets of those numbers that have apps of their own.
    async fn read_app_secrets(
        &self,
        provider: Provider,
        numbers: BTreeSet<ExternalId>,
    ) -> Result<BTreeMap<ExternalId, Option<Secret>>, HttpProblem> {
        let mut apps = BTreeMap::new();
        for number in numbers {
            let Some(bound) = find_proving_instance(&self.deps, provider, &number).await? else {
                continue;
            };
            let instance = &bound.instance;
            let Some(reference) = &instance.app_secret else {
                continue;
            };
            let secret = if reference.names_app_secret_of(&instance.tenant) {
                self.keys.app_secret(reference).await?
            } else {
                None
            };
            if secret.is_none() {
                tracing::warn!(instance_id = %instance.id, "the app secret of an instance is missing: its webhooks are refused");
            }
            apps.insert(number, secret);
        }
        Ok(apps)
    }
}
