//! The keys that prove webhooks.

use recado_domain::ids::{ExternalId, Nonce};
use recado_domain::secret::Secret;
use std::collections::BTreeMap;

/// The secrets that prove a provider's webhooks.
#[derive(Debug, Clone, Default)]
pub struct WebhookKeys {
    /// Master secrets from which the instances' secrets are derived: the current one first, and during a rotation the
    /// previous one.
    pub masters: Vec<Secret>,
    named: BTreeMap<&'static str, Vec<Secret>>,
    apps: BTreeMap<ExternalId, Vec<Secret>>,
    configured: Vec<ExternalId>,
    salt: Option<(ExternalId, Nonce)>,
}

impl WebhookKeys {
    /// Stores the secrets of a setting; `written` is the setting's value, if it is set.
    pub fn set_named_secrets(&mut self, key: &NamedKey, written: Option<&Secret>) {
        self.named.insert(key.setting, key.split_secrets(written));
    }

    /// Returns the same keys with these master secrets.
    #[must_use]
    pub fn with_masters(self, masters: Vec<Secret>) -> Self {
        Self { masters, ..self }
    }

    /// Returns the same keys with the secrets of the apps of single numbers. A number that is in `apps` has an app of its
    /// own, also if the secret could not be read.
    #[must_use]
    pub fn with_apps(&self, apps: BTreeMap<ExternalId, Option<Secret>>) -> Self {
        let apps = apps.into_iter();
        let apps = apps.map(|(number, written)| (number, split_list(written.as_ref())));
        Self {
            apps: apps.collect(),
            ..self.clone()
        }
    }

    /// Returns the same keys with the provider's numbers that are configured, for a request that names none.
    #[must_use]
    pub fn with_configured_numbers(&self, configured: Vec<ExternalId>) -> Self {
        Self {
            configured,
            ..self.clone()
        }
    }

    /// Returns the same keys with the salt of a configured instance, for a request whose proof does not show it.
    #[must_use]
    pub fn with_salt(&self, instance: ExternalId, salt: Nonce) -> Self {
        Self {
            salt: Some((instance, salt)),
            ..self.clone()
        }
    }

    /// Returns the salt of an instance, if it was added.
    pub(crate) fn find_salt(&self, instance: &ExternalId) -> Option<&Nonce> {
        let added = self.salt.as_ref().filter(|(of, _)| of == instance);
        added.map(|(_, salt)| salt)
    }

    /// Returns the configured numbers; none, unless the handler needs them for the request.
    pub(crate) fn configured_numbers(&self) -> &[ExternalId] {
        &self.configured
    }

    /// Returns the numbers with apps of their own, each with the secrets of its app.
    pub(crate) fn apps(&self) -> &BTreeMap<ExternalId, Vec<Secret>> {
        &self.apps
    }

    /// Returns the secrets of a setting: the current one, and others during a rotation.
    pub fn named_secrets(&self, setting: &str) -> &[Secret] {
        self.named.get(setting).map_or(&[], Vec::as_slice)
    }
}

/// The keys that prove a provider's webhooks and must be fetched. Keys of other providers are not fetched: one
/// provider's webhooks must not depend on the store of another's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequiredKeys {
    /// `true` if the instances' secrets are derived from the master secret.
    pub masters: bool,
    /// Secrets of settings that are needed as well.
    pub named: &'static [NamedKey],
}

impl RequiredKeys {
    /// No keys, for a provider whose events do not come by webhook.
    pub(crate) const NOTHING: Self = Self {
        masters: false,
        named: &[],
    };
}

/// A secret that is stored in a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedKey {
    /// Name of the setting, such as `META_APP_SECRET`.
    pub setting: &'static str,
    /// `true` if the setting may hold several secrets, separated by commas. Each of them proves a webhook.
    pub several: bool,
}

impl NamedKey {
    fn split_secrets(&self, written: Option<&Secret>) -> Vec<Secret> {
        match written {
            written if self.several => split_list(written),
            written => written.cloned().into_iter().collect(),
        }
    }
}

/// Splits secrets that are separated by commas.
fn split_list(written: Option<&Secret>) -> Vec<Secret> {
    let parts = written.map_or("", Secret::expose_secret).split(',');
    parts.filter_map(Secret::new).collect()
}
