//! The records of an export.

use crate::belongings::ExportedEvent;
use crate::export::ExportCursor;
use jiff::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::Delivery;
use recado_domain::effects::Journal;
use recado_domain::ids::{InstanceId, MessageId, TenantId};
use recado_domain::invitations::{Guest, Invitation};
use recado_domain::message::{Message, StoredFile};
use recado_domain::opt_out::OptOut;
use recado_domain::scheduled::ScheduledMessage;
use recado_occasions::guests::find_guests;
use recado_pipeline::Deps;
use recado_ports::ports::{PortResult, join_pages};
use recado_ports::records::invitations::list_invitations;
use serde::Serialize;
use std::collections::BTreeSet;

/// A part of what is stored of a contact. The records stand in it as they are stored.
#[derive(Debug, Serialize)]
pub struct ContactExport {
    /// The tenant whose contact it is.
    pub tenant: TenantId,
    /// Time of the export.
    pub exported_at: Timestamp,
    /// The person on each instance.
    pub instances: Vec<ExportedInstance>,
    /// Files that clients uploaded, that the messages name, and that are still stored.
    pub files: Vec<ExportedFile>,
    /// Files of the messages, to be read one by one.
    pub message_files: Vec<ExportedMessageFile>,
    /// The person as a guest of occasions, with what was sent. They stand in the first part.
    pub guests: Vec<ExportedGuest>,
    /// Preferences of the person about messages that nobody asked for. They stand in the first part.
    pub opt_outs: Vec<OptOut>,
    /// Place at which the next part begins; `None`: this is the last one.
    #[serde(skip)]
    pub next: Option<ExportCursor>,
}

/// A person's records on one instance.
#[derive(Debug, Serialize)]
pub struct ExportedInstance {
    /// The instance.
    pub instance: InstanceId,
    /// Addresses of the person.
    pub addresses: Vec<String>,
    /// Conversations with their messages, the newest of each thread first.
    pub conversations: Vec<ExportedConversation>,
    /// Events that are not applied yet, or were given up.
    pub events: Vec<ExportedEvent>,
    /// Messages that are to be sent later.
    pub scheduled: Vec<ScheduledMessage>,
    /// Effects of the agent's tools and what is booked, thread by thread. They stand in the first part.
    pub journals: Vec<Journal>,
}

impl ExportedInstance {
    /// Returns `true` if nothing is stored on the instance.
    pub(super) fn is_empty(&self) -> bool {
        self.conversations.is_empty()
            && self.events.is_empty()
            && self.scheduled.is_empty()
            && self.journals.is_empty()
    }
}

/// A conversation with its messages.
#[derive(Debug, Serialize)]
pub struct ExportedConversation {
    /// The conversation.
    pub conversation: Conversation,
    /// Its messages in their order, as many as the part holds.
    pub messages: Vec<ExportedMessage>,
}

/// A message with its delivery.
#[derive(Debug, Serialize)]
pub struct ExportedMessage {
    /// The message.
    pub message: Message,
    /// What the provider reported of its delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
}

/// A file that a client uploaded to send it to the contact.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ExportedFileView))]
pub struct ExportedFile {
    /// The source by which messages name the file.
    pub source: String,
    /// Media type of the file.
    pub mime_type: String,
    /// Name of the file, if the client gave one.
    pub file_name: Option<String>,
    /// Content of the file.
    pub base64: String,
}

/// The stored file of a message. Its bytes are read by its own route.
#[derive(Debug, Serialize)]
pub struct ExportedMessageFile {
    /// The message.
    pub message: MessageId,
    /// The stored bytes.
    pub stored: StoredFile,
    /// Name of the file, if it has one.
    pub file_name: Option<String>,
}

/// Describes the stored file of a message.
pub(super) fn describe_file(message: &Message) -> Option<ExportedMessageFile> {
    let stored = message.file.as_ref()?.stored()?;
    let media = message.content.media_file();
    Some(ExportedMessageFile {
        message: message.message_id(),
        stored: stored.clone(),
        file_name: media.and_then(|media| media.file_name.clone()),
    })
}

const PAGE: usize = 200;

/// A guest with the invitations.
#[derive(Debug, Serialize)]
pub struct ExportedGuest {
    /// The guest.
    pub guest: Guest,
    /// The invitations, the oldest first.
    pub invitations: Vec<Invitation>,
}

/// Reads the person's guests with their invitations.
pub(super) async fn export_guests(
    deps: &Deps,
    tenant: &TenantId,
    addresses: &BTreeSet<ContactAddress>,
) -> PortResult<Vec<ExportedGuest>> {
    let mut exported = Vec::new();
    for guest in find_guests(deps, tenant, addresses).await? {
        let Guest {
            tenant, occasion, id, ..
        } = &guest;
        let invitations = join_pages(PAGE, |page| async move {
            list_invitations(deps.store(), tenant, occasion, Some(id), &page).await
        })
        .await?;
        exported.push(ExportedGuest { guest, invitations });
    }
    Ok(exported)
}
