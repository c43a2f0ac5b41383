//! Questions to providers beside the messages: templates, and contacts' pictures.

use super::{QUESTION_TIMEOUT, WhatsApp};
use crate::wire::template_lookup::TemplateLookup;
use recado_domain::config::Instance;
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, MessageTemplate};
use recado_ports::ports::{PictureAnswer, Secrets, System};

impl<S: Secrets, A: System> WhatsApp<S, A> {
    pub(super) async fn fetch_template(
        &self,
        instance: &Instance,
        wanted: &MessageTemplate,
    ) -> TemplateLookup {
        let Some((secret, external)) = self.find_access(instance).await else {
            return TemplateLookup::Unclear;
        };
        let timeout = self.config.timeout.min(QUESTION_TIMEOUT);
        let Ok(endpoint) = self.endpoint(instance, &external, secret.as_ref(), timeout) else {
            return TemplateLookup::Unclear;
        };
        endpoint
            .fetch_template(instance.account_id.as_deref(), wanted)
            .await
    }

    /// Asks for what the provider has stored of a message.
    pub(super) async fn ask_for_stored_content(&self, instance: &Instance, id: &str) -> Option<Content> {
        let (secret, external) = self.find_access(instance).await?;
        let timeout = self.config.timeout.min(QUESTION_TIMEOUT);
        let endpoint = self
            .endpoint(instance, &external, secret.as_ref(), timeout)
            .ok()?;
        endpoint.fetch_stored_content(id).await
    }

    /// Asks for the picture that a contact shows.
    pub(super) async fn ask_for_picture(
        &self,
        instance: &Instance,
        contact: &ContactAddress,
    ) -> PictureAnswer {
        let Some((secret, external)) = self.find_access(instance).await else {
            return PictureAnswer::Unclear;
        };
        let timeout = self.config.timeout.min(QUESTION_TIMEOUT);
        match self.endpoint(instance, &external, secret.as_ref(), timeout) {
            Ok(endpoint) => endpoint.fetch_picture(contact).await,
            Err(_) => PictureAnswer::Unclear,
        }
    }
}
