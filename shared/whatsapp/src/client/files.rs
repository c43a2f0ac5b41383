//! Fetches the files of messages.

use super::{ProviderAccess, WhatsApp};
use crate::wire::file_download::{DownloadClients, download_file};
use recado_domain::config::InstanceConfig;
use recado_domain::message::FileLoss;
use recado_ports::ports::{FetchedFile, FileError, FileRequest, Secrets, System};

impl<S: Secrets, A: System> WhatsApp<S, A> {
    /// Sets the client that asks hosts which others named: it downloads files from hosts which are not the provider's own, and
    /// reaches instances whose base URL a tenant's token named. It must connect to public addresses only
    /// (`recado_http_client` makes such a one). Without it no such host is asked.
    #[must_use]
    pub fn with_public_client(mut self, http: reqwest::Client) -> Self {
        self.public = Some(http);
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
        if file.was_sent {
            return self.fetch_sent_file(file).await;
        }
        let external = instance.resolve_external_id();
        let external = external.ok_or(FileError::Lost(FileLoss::Gone))?;
        let Ok(endpoint) = self.endpoint(instance, &external, secret.as_ref(), file.within) else {
            return Err(FileError::Credentials);
        };
        let own = self.client_for(instance).map_err(|_| FileError::Credentials)?;
        let clients = self.download_clients(own);
        let fetched = endpoint.fetch_file(clients, file).await;
        if matches!(fetched, Err(FileError::Credentials)) {
            self.forget_credential(instance).await;
        }
        fetched
    }

    fn download_clients<'a>(&'a self, own: &'a reqwest::Client) -> DownloadClients<'a> {
        DownloadClients {
            own,
            private: &self.http,
            public: self.public.as_ref(),
        }
    }

    /// Fetches a file from the URL by which a client sent it. Whoever may send chooses that URL, so it never leads into a private
    /// network, and no key is sent there.
    async fn fetch_sent_file(&self, file: &FileRequest<'_>) -> Result<FetchedFile, FileError> {
        let url = file.media.source.as_deref();
        let url = url.ok_or(FileError::Lost(FileLoss::Gone))?;
        let public = FileRequest {
            private_hosts: false,
            ..*file
        };
        let request = self
            .download_clients(&self.http)
            .build_request(url, "", &public)?;
        match download_file(request, file).await {
            // It is no provider's key that is refused.
            Err(FileError::Credentials) => Err(FileError::Lost(FileLoss::Gone)),
            fetched => fetched,
        }
    }
}
