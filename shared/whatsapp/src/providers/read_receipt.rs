//! Shows the contact that its message was read and that a reply is being written.

use super::{ProviderAccess, QUESTION_TIMEOUT, WhatsApp};
use crate::registry::ProviderModule;
use crate::{dialog360, evolution, meta};
use futures::future::join;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_pipeline::ports::{Secrets, System};

/// Marks a message as read and shows "typing…". With the simulated provider nothing happens.
pub(super) async fn mark_read_and_typing<S: Secrets, A: System>(
    whatsapp: &WhatsApp<S, A>,
    bound: &InstanceConfig,
    id: &str,
    chat: &ContactAddress,
    typing: bool,
) {
    let (ProviderAccess::Credential(secret), Some(external)) = (
        whatsapp.resolve_access(bound).await,
        bound.instance.resolve_external_id(),
    ) else {
        return;
    };
    let timeout = whatsapp.config.timeout.min(QUESTION_TIMEOUT);
    match ProviderModule::from_provider(bound.instance.provider) {
        Some(ProviderModule::Meta) => {
            meta::mark_read_and_typing(
                &whatsapp.meta_endpoint(bound, &external, &secret, timeout),
                id,
                typing,
            )
            .await;
        }
        Some(ProviderModule::Dialog360) => {
            dialog360::mark_read_and_typing(
                &whatsapp.dialog360_endpoint(bound, &secret, timeout),
                id,
                typing,
            )
            .await;
        }
        // AWS does not document read marks for its call.
        Some(ProviderModule::AwsSocial) | None => {}
        Some(ProviderModule::Evolution) => {
            let Some(at) = whatsapp.evolution_endpoint(bound, &external, &secret, timeout) else {
                return;
            };
            let read = async {
                if bound.instance.mark_read {
                    evolution::mark_read(&at, id, chat).await;
                }
            };
            let types = async {
                if typing {
                    let timeout = evolution::TYPING_TIMEOUT;
                    if let Some(at) = whatsapp.evolution_endpoint(bound, &external, &secret, timeout) {
                        evolution::show_typing(&at, chat).await;
                    }
                }
            };
            join(read, types).await;
        }
    }
}

#[cfg(test)]
mod tests;
