//! Fetches the files of messages.

use super::{ProviderAccess, WhatsApp};
use crate::wire::file_download::DownloadClients;
use recado_domain::config::InstanceConfig;
use recado_domain::message::FileLoss;
use recado_pipeline::ports::{FetchedFile, FileError, FileRequest, Secrets, System};

impl<S: Secrets, A: System> WhatsApp<S, A> {
    /// Sets the client that downloads files from hosts which are not the provider's own. It must connect to public addresses
    /// only (`recado_http_client` makes such a one). Without it no such host is asked.
    #[must_use]
    pub fn with_downloads(mut self, http: reqwest::Client) -> Self {
        self.downloads = Some(http);
        self
    }

    /// Fetches a file through the instance's endpoint.
    pub(super) async fn fetch_from_provider(
        &self,
        bound: &InstanceConfig,
        file: &FileRequest<'_>,
    ) -> Result<FetchedFile, FileError> {
        let instance = &bound.instance;
        let secret = match self.resolve_access(instance).await {
            ProviderAccess::Granted(secret) => secret,
            // Nobody has a file of a simulated contact.
            ProviderAccess::Simulated(_) => return Err(FileError::Lost(FileLoss::Gone)),
            ProviderAccess::Missing(_) => return Err(FileError::Credentials),
            ProviderAccess::Unclear => {
                let why = "the credential could not be read";
                return Err(FileError::Unavailable { why });
            }
        };
        let external = instance.resolve_external_id();
        let external = external.ok_or(FileError::Lost(FileLoss::Gone))?;
        let Ok(endpoint) = self.endpoint(instance, &external, secret.as_ref(), file.within) else {
            return Err(FileError::Credentials);
        };
        let clients = DownloadClients {
            trusted: &self.http,
            public: self.downloads.as_ref(),
        };
        let fetched = endpoint.fetch_file(clients, file).await;
        if matches!(fetched, Err(FileError::Credentials)) {
            self.forget_credential(instance).await;
        }
        fetched
    }
}
