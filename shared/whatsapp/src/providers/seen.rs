//! What the contact is shown while its turn is worked on.

use super::{Access, QUESTION_TIMEOUT, WhatsApp};
use crate::catalogue::Module;
use crate::{dialog360, evolution, meta};
use futures::future::join;
use recado_domain::config::Bound;
use recado_domain::contact::ContactAddress;
use recado_pipeline::ports::{Ambient, Secrets};

/// Shows it. The simulated provider has nobody to show it to.
pub(super) async fn seen<S: Secrets, A: Ambient>(
    whatsapp: &WhatsApp<S, A>,
    bound: &Bound,
    id: &str,
    chat: &ContactAddress,
    typing: bool,
) {
    let (Access::Credential(secret), Some(external)) =
        (whatsapp.access(bound).await, bound.instance.external())
    else {
        return;
    };
    let timeout = whatsapp.config.timeout.min(QUESTION_TIMEOUT);
    match Module::of(bound.instance.provider) {
        Some(Module::Meta) => {
            meta::seen(&whatsapp.meta(bound, &external, &secret, timeout), id, typing).await;
        }
        Some(Module::Dialog360) => {
            dialog360::seen(&whatsapp.dialog360(bound, &secret, timeout), id, typing).await;
        }
        // Not documented for AWS's call.
        Some(Module::AwsSocial) | None => {}
        Some(Module::Evolution) => {
            let Some(at) = whatsapp.evolution(bound, &external, &secret, timeout) else {
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
                    if let Some(at) = whatsapp.evolution(bound, &external, &secret, timeout) {
                        evolution::typing(&at, chat).await;
                    }
                }
            };
            join(read, types).await;
        }
    }
}

#[cfg(test)]
mod tests;
