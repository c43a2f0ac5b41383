//! The credentials of senders.

use crate::EmailClients;
use recado_domain::config::{CredentialRef, EmailSender};
use recado_domain::secret::Secret;
use recado_ports::ports::{EmailError, Secrets};

impl<S: Secrets> EmailClients<S> {
    /// Resolves the credential that a sender must have.
    pub(crate) async fn require_credential(&self, sender: &EmailSender) -> Result<Secret, EmailError> {
        let missing = || EmailError::NeedsCredentials("it names no credential".to_owned());
        let reference = sender.credential.as_ref().ok_or_else(missing)?;
        self.resolve_credential(reference).await
    }

    /// Resolves a credential.
    pub(crate) async fn resolve_credential(&self, reference: &CredentialRef) -> Result<Secret, EmailError> {
        match self.secrets.resolve_secret(reference).await {
            Ok(Some(secret)) => Ok(secret),
            Ok(None) => Err(EmailError::NeedsCredentials(reference.describe_missing())),
            // Nothing was sent, so this is certain, and it may pass.
            Err(_) => Err(EmailError::Later {
                why: "the credential could not be read".to_owned(),
                after: None,
            }),
        }
    }
}
