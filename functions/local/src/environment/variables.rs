//! One variable after the other.

use recado_domain::secret::Secret;
use recado_pipeline::settings::Problem;
use recado_whatsapp::webhook::{WebhookKeys, named_keys};
use std::path::PathBuf;

/// The variables, and what was found wrong with them.
pub(super) struct Variables<F> {
    pub(super) variable: F,
    pub(super) problems: Vec<Problem>,
}

impl<F: Fn(&str) -> Option<String>> Variables<F> {
    /// A variable's text; an empty one counts as absent.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        (self.variable)(name)
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
    }

    fn problem(&mut self, name: &str, what: &str) {
        self.problems.push(Problem {
            name: name.to_owned(),
            what: what.to_owned(),
        });
    }

    pub(super) fn secret(&self, name: &str) -> Option<Secret> {
        self.text(name).as_deref().and_then(Secret::new)
    }

    /// A path; `usual` if none is given.
    pub(super) fn path(&self, name: &str, usual: &str) -> PathBuf {
        PathBuf::from(self.text(name).unwrap_or_else(|| usual.to_owned()))
    }

    /// What every provider's webhooks are proven with, besides the master.
    pub(super) fn webhook(&self) -> WebhookKeys {
        let mut keys = WebhookKeys::default();
        for key in named_keys() {
            keys.set(key, self.secret(key.setting).as_ref());
        }
        keys
    }

    /// What `read` makes of a variable, else `default`; text that it refuses is a problem.
    pub(super) fn parsed<T>(
        &mut self,
        name: &str,
        default: T,
        what: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> T {
        match self.text(name).map(|text| read(&text)) {
            None => default,
            Some(Some(value)) => value,
            Some(None) => {
                self.problem(name, what);
                default
            }
        }
    }

    /// A base URL without the slash at its end.
    pub(super) fn url(&mut self, name: &str) -> Option<String> {
        let http = |url: &str| url.starts_with("http://") || url.starts_with("https://");
        self.parsed(name, None, "must begin with http:// or https://", |text| {
            http(text).then(|| Some(text.trim_end_matches('/').to_owned()))
        })
    }
}
