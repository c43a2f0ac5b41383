//! Signs that a contact types: webhooks keep them, and turns wait for them.

use crate::Deps;
use crate::steps::identity::derive_thread_id;
use recado_domain::conversation::Conversation;
use recado_domain::typing::{TypingSign, TypingUpdate};
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::find_config_by_external;

/// Keeps a sign. One of an instance that is not configured is dropped.
pub async fn keep_sign(deps: &Deps, update: &TypingUpdate) -> PortResult<()> {
    let (store, external) = (deps.store(), &update.external);
    let Some(bound) = find_config_by_external(store, update.provider, external).await? else {
        return Ok(());
    };
    let thread = derive_thread_id(deps, &bound.instance.id, update.address.as_str()).await?;
    let sign = TypingSign {
        tenant: bound.tenant.id.clone(),
        state: update.state,
        at: deps.system().now(),
    };
    store.put_typing_sign(&thread, &sign).await
}

/// Returns the newest sign of a conversation's contact, under the address that it writes from or its other identity.
pub async fn find_sign(deps: &Deps, conversation: &Conversation) -> PortResult<Option<TypingSign>> {
    let mut threads = Vec::new();
    for address in [
        Some(&conversation.address),
        conversation.contact.known_as.as_ref(),
    ]
    .into_iter()
    .flatten()
    {
        threads.push(derive_thread_id(deps, &conversation.instance, address.as_str()).await?);
    }
    deps.store().find_typing_sign(&threads).await
}
