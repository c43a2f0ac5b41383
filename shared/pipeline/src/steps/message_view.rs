//! Messages together with their deliveries, as operators read them.

use crate::Deps;
use crate::deps::capabilities;
use crate::steps::identity::load_identity_key;
use jiff::SignedDuration;
use recado_domain::access::Caller;
use recado_domain::answer::ExplainedAnswer;
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::delivery::{Delivery, DeliveryKey};
use recado_domain::ids::MessageId;
use recado_domain::message::{Message, MessageStatus, StoredFile};
use recado_domain::millis::add_duration;
use recado_domain::price::Cost;
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::find_config_by_id;
use std::fmt::Write;

/// A message together with its delivery.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageView {
    /// The message.
    pub message: Message,
    /// Status of the message, with what its delivery tells.
    pub status: MessageStatus,
    /// Record of the delivery; `None` if there is none.
    pub delivery: Option<Delivery>,
    /// Answer to a contact's message, or the reason why there is none. `None` for other messages, and where the answer
    /// was not asked for.
    pub answer: Option<ExplainedAnswer>,
    /// URL, or path of the API, under which anybody can read the stored file for some minutes. `None`: nothing is stored.
    pub file_url: Option<String>,
    /// Cost of what models used for the message, and of its charge. `None`: nothing was used, or it was not asked for.
    pub cost: Option<Cost>,
}

/// Returns a message with its delivery; `None` if it does not exist or is outside the caller's scope.
pub async fn find_message_view(
    deps: &Deps,
    caller: &Caller,
    id: &MessageId,
) -> PortResult<Option<MessageView>> {
    let message = deps.store().find_message(id).await?;
    let Some(message) = message.filter(|message| caller.scope.covers(&message.tenant)) else {
        return Ok(None);
    };
    let bound = find_config_by_id(deps.store(), &message.instance).await?;
    let views = join_deliveries(deps, bound.as_deref(), vec![message]).await?;
    Ok(views.into_iter().next())
}

/// Joins messages with their deliveries.
pub async fn join_deliveries(
    deps: &Deps,
    bound: Option<&InstanceConfig>,
    messages: Vec<Message>,
) -> PortResult<Vec<MessageView>> {
    let deliveries = find_message_deliveries(deps, bound, &messages).await?;
    let view = |(message, delivery): (Message, Option<Delivery>)| MessageView {
        status: message.status_with_delivery(delivery.as_ref()),
        message,
        delivery,
        answer: None,
        file_url: None,
        cost: None,
    };
    let mut views: Vec<MessageView> = messages.into_iter().zip(deliveries).map(view).collect();
    for view in &mut views {
        view.file_url = sign_file_url(deps, &view.message).await?;
    }
    Ok(views)
}

/// Returns the deliveries of messages, in their order.
pub async fn find_message_deliveries(
    deps: &Deps,
    bound: Option<&InstanceConfig>,
    messages: &[Message],
) -> PortResult<Vec<Option<Delivery>>> {
    let keys: Vec<Option<DeliveryKey>> = messages
        .iter()
        .map(|message| delivery_key(deps, bound, message))
        .collect();
    let asked: Vec<DeliveryKey> = keys.iter().flatten().cloned().collect();
    let mut found = deps.store().find_deliveries(&asked).await?.into_iter();
    let in_place = keys
        .iter()
        .map(|key| key.as_ref().and_then(|_| found.next().flatten()));
    Ok(in_place.collect())
}

/// Time for which the link of a file is valid, as a URL of S3 is.
const LINK_LASTS: SignedDuration = SignedDuration::from_mins(15);

/// Returns the URL of the stored file of a message, which anybody may read for some minutes: the store's, or else a path of the API.
async fn sign_file_url(deps: &Deps, message: &Message) -> PortResult<Option<String>> {
    let stored = message.file.as_ref().and_then(|file| file.stored());
    match (stored, message.file_key()) {
        (Some(stored), Some(key)) => {
            let disposition = build_disposition(message, stored);
            let signed = deps.queues().sign_file_url(&key, &disposition).await?;
            if signed.is_some() {
                return Ok(signed);
            }
            let id = message.message_id();
            let until = add_duration(deps.system().now(), LINK_LASTS).as_second();
            let proof = load_identity_key(deps).await?.sign_file_link(&id, until);
            Ok(Some(format!("/v1/files/{id}?until={until}&proof={proof}")))
        }
        _ => Ok(None),
    }
}

/// Returns the key under which a message's delivery is recorded. `None` for a message that came in, and where the
/// instance or the provider's id is not known.
fn delivery_key(deps: &Deps, bound: Option<&InstanceConfig>, message: &Message) -> Option<DeliveryKey> {
    message.out.as_ref()?;
    let bound = bound?;
    let (provider, instance) = (bound.instance.provider, bound.instance.resolve_external_id()?);
    if capabilities(deps, bound).echoes_our_id {
        return Some(DeliveryKey::from_own_id(
            provider,
            &instance,
            &message.message_id(),
        ));
    }
    let theirs = message.provider_message_id.as_ref()?;
    Some(DeliveryKey::from_provider_id(provider, &instance, theirs))
}

/// Kinds of files that a browser shows without running anything. Any other file is saved, not shown: a page or a drawing of a
/// contact could run a script.
const SHOWN: [&str; 8] = [
    "image/jpeg",
    "image/png",
    "image/webp",
    "image/gif",
    "audio/ogg",
    "audio/mpeg",
    "audio/mp4",
    "video/mp4",
];

/// Returns the value of `Content-Disposition` for the stored file of a message.
pub fn build_disposition(message: &Message, stored: &StoredFile) -> String {
    let kind = if SHOWN.contains(&stored.mime_type.as_str()) {
        "inline"
    } else {
        "attachment"
    };
    match resolve_file_name(&message.content) {
        Some(name) => format!("{kind}; filename*=UTF-8''{}", encode_file_name(name)),
        None => kind.to_owned(),
    }
}

fn resolve_file_name(content: &Content) -> Option<&str> {
    content.media_file()?.file_name.as_deref()
}

/// Encodes a file name for the header (RFC 8187).
fn encode_file_name(name: &str) -> String {
    let mut encoded = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _written = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_header() {
        assert_eq!(
            encode_file_name("açaí \"a\".pdf\r\n"),
            "a%C3%A7a%C3%AD%20%22a%22.pdf%0D%0A"
        );
    }
}
