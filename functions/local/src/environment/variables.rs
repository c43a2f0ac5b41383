//! Reads single environment variables.

use recado_domain::secret::Secret;
use recado_pipeline::settings::SettingError;
use recado_whatsapp::webhook::{WebhookKeys, list_named_keys};
use std::path::PathBuf;

/// A reader of variables, which collects the problems that it finds.
pub(super) struct VariableReader<F> {
    pub(super) variable: F,
    pub(super) problems: Vec<SettingError>,
}

impl<F: Fn(&str) -> Option<String>> VariableReader<F> {
    /// Returns a variable's text. An empty variable counts as absent.
    pub(super) fn read_text(&self, name: &str) -> Option<String> {
        (self.variable)(name)
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
    }

    fn add_problem(&mut self, name: &str, what: &str) {
        self.problems.push(SettingError {
            name: name.to_owned(),
            what: what.to_owned(),
        });
    }

    pub(super) fn read_secret(&self, name: &str) -> Option<Secret> {
        self.read_text(name).as_deref().and_then(Secret::new)
    }

    /// Returns the path in a variable; `usual` if there is none.
    pub(super) fn read_path(&self, name: &str, usual: &str) -> PathBuf {
        PathBuf::from(self.read_text(name).unwrap_or_else(|| usual.to_owned()))
    }

    /// Returns the secrets that prove webhooks, apart from the master, for all providers.
    pub(super) fn read_webhook_keys(&self) -> WebhookKeys {
        let mut keys = WebhookKeys::default();
        for key in list_named_keys() {
            keys.set_named_secrets(key, self.read_secret(key.setting).as_ref());
        }
        keys
    }

    /// Parses a variable with `read`; returns `default` if it is absent. If `read` returns `None`, a problem is
    /// recorded and `default` returned.
    pub(super) fn read_parsed<T>(
        &mut self,
        name: &str,
        default: T,
        what: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> T {
        match self.read_text(name).map(|text| read(&text)) {
            None => default,
            Some(Some(value)) => value,
            Some(None) => {
                self.add_problem(name, what);
                default
            }
        }
    }

    /// Returns a base URL, without the slash at its end.
    pub(super) fn read_base_url(&mut self, name: &str) -> Option<String> {
        let http = |url: &str| url.starts_with("http://") || url.starts_with("https://");
        self.read_parsed(name, None, "must begin with http:// or https://", |text| {
            http(text).then(|| Some(text.trim_end_matches('/').to_owned()))
        })
    }
}
