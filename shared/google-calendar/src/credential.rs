//! Credentials as Google gives them: the key file of a service account, or a refresh token with its client.

use recado_domain::secret::Secret;
use serde::Deserialize;
use std::fmt;

/// A credential, read from the JSON that is kept as a secret.
#[derive(Clone)]
pub enum GoogleCredential {
    /// The key of a service account, with which the calendar is shared
    /// (<https://developers.google.com/identity/protocols/oauth2/service-account>).
    ServiceAccount {
        /// The account's e-mail address.
        client_email: String,
        /// The id of the key.
        private_key_id: Option<String>,
        /// The key as PEM.
        private_key: Secret,
    },
    /// A refresh token that a person gave (<https://developers.google.com/identity/protocols/oauth2/web-server#offline>).
    RefreshToken {
        /// The id of the client.
        client_id: String,
        /// The secret of the client.
        client_secret: Secret,
        /// The token.
        refresh_token: Secret,
    },
}

/// The reasons why a secret is no credential. They hold nothing of the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CredentialProblem {
    /// The text is not JSON of a known type.
    #[error(
        "it must be JSON: the key file of a service account (`type` is service_account), or `type` authorized_user with \
         client_id, client_secret and refresh_token"
    )]
    Form,
    /// A field is missing or empty.
    #[error("its field `{0}` is missing or empty")]
    Field(&'static str),
    /// The private key is not an RSA key as PEM.
    #[error("its private_key is not an RSA key as PEM")]
    Key,
}

#[derive(Deserialize)]
struct WrittenCredential {
    #[serde(rename = "type")]
    kind: String,
    client_email: Option<String>,
    private_key_id: Option<String>,
    private_key: Option<String>,
    client_id: Option<String>,
    client_secret: Option<String>,
    refresh_token: Option<String>,
}

impl GoogleCredential {
    /// Reads a credential from the secret's text.
    pub fn parse_credential(secret: &Secret) -> Result<Self, CredentialProblem> {
        let written: WrittenCredential =
            serde_json::from_str(secret.expose_secret()).map_err(|_| CredentialProblem::Form)?;
        let text = |value: Option<String>, name| {
            let value = value.filter(|text| !text.trim().is_empty());
            value.ok_or(CredentialProblem::Field(name))
        };
        let hidden = |value: Option<String>, name| {
            let value = value.and_then(|text| Secret::new(&text));
            value.ok_or(CredentialProblem::Field(name))
        };
        match written.kind.as_str() {
            "service_account" => Ok(Self::ServiceAccount {
                client_email: text(written.client_email, "client_email")?,
                private_key_id: written.private_key_id,
                private_key: hidden(written.private_key, "private_key")?,
            }),
            "authorized_user" => Ok(Self::RefreshToken {
                client_id: text(written.client_id, "client_id")?,
                client_secret: hidden(written.client_secret, "client_secret")?,
                refresh_token: hidden(written.refresh_token, "refresh_token")?,
            }),
            _ => Err(CredentialProblem::Form),
        }
    }
}

impl fmt::Debug for GoogleCredential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ServiceAccount { .. } => "ServiceAccount(***)",
            Self::RefreshToken { .. } => "RefreshToken(***)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(written: &Value) -> Result<GoogleCredential, CredentialProblem> {
        GoogleCredential::parse_credential(&Secret::new(&written.to_string()).unwrap())
    }

    #[test]
    fn both_types_are_read_and_hidden_from_debug() {
        let account = json!({
            "type": "service_account", "client_email": "a@p.iam.gserviceaccount.com", "private_key": "PEM-4711",
            "private_key_id": "k1", "project_id": "p", "token_uri": "https://elsewhere.example/token",
        });
        let user = json!({
            "type": "authorized_user", "client_id": "c", "client_secret": "s-4711", "refresh_token": "r-4711",
        });
        for written in [&account, &user] {
            let debug = format!("{:?}", read(written).unwrap());
            assert!(debug.ends_with("(***)"), "{debug}");
        }
    }

    #[test]
    fn what_is_missing_is_named_and_nothing_of_it_is_told() {
        let without = |name: &str, mut written: Value| {
            written[name] = json!(" ");
            read(&written).unwrap_err()
        };
        let user =
            json!({"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"});
        for name in ["client_id", "client_secret", "refresh_token"] {
            assert_eq!(without(name, user.clone()), CredentialProblem::Field(name));
        }
        let account = json!({"type": "service_account", "client_email": "a", "private_key": "k"});
        for name in ["client_email", "private_key"] {
            assert_eq!(without(name, account.clone()), CredentialProblem::Field(name));
        }
        assert_eq!(
            read(&json!({"type": "external_account"})).unwrap_err(),
            CredentialProblem::Form
        );
        let plain = Secret::new("AIza-4711").unwrap();
        let told = GoogleCredential::parse_credential(&plain)
            .unwrap_err()
            .to_string();
        assert!(!told.contains("4711"), "{told}");
    }
}
