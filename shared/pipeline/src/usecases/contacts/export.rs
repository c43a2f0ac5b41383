//! Exports everything that is stored of a contact: one JSON document, and the files that clients uploaded for it.

use super::lookup::{ContactQuery, FoundContact, find_on_instances};
use super::{ContactError, audit_contacts};
use crate::Deps;
use crate::ports::{
    Conversations, Deliveries, ErasableRecords, PageRequest, PortError, PortResult, Queues, System,
};
use crate::steps::upload::{StoredUpload, upload_key};
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::{Delivery, DeliveryKey};
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::message::Message;
use recado_domain::scheduled::ScheduledMessage;
use serde::Serialize;

const PAGE: usize = 100;

/// Everything that is stored of a contact. The records stand in it as they are stored.
#[derive(Debug, Serialize)]
pub struct ContactExport {
    /// The tenant whose contact it is.
    pub tenant: TenantId,
    /// Time of the export.
    pub exported_at: Timestamp,
    /// The person on each instance.
    pub instances: Vec<ExportedInstance>,
    /// Files that the messages name, and that are still stored.
    pub files: Vec<ExportedFile>,
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
    /// Messages that are to be sent later.
    pub scheduled: Vec<ScheduledMessage>,
}

/// A conversation with its messages.
#[derive(Debug, Serialize)]
pub struct ExportedConversation {
    /// The conversation.
    pub conversation: Conversation,
    /// Its messages, the newest first.
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

/// Exports everything that is stored of a contact. Tombstones are left out.
pub async fn export_contact(
    deps: &impl Deps,
    caller: &Caller,
    query: &ContactQuery,
) -> Result<ContactExport, ContactError> {
    let found = find_on_instances(deps, query).await?;
    audit_contacts(deps, caller, AuditAction::ContactExported, &found).await?;
    let mut export = ContactExport {
        tenant: query.tenant.clone(),
        exported_at: deps.system().now(),
        instances: Vec::new(),
        files: Vec::new(),
    };
    for contact in found {
        let scheduled = list_scheduled(deps, &contact).await?;
        if contact.conversations.is_empty() && scheduled.is_empty() {
            continue;
        }
        for scheduled in &scheduled {
            export_file(deps, &contact.instance.id, &scheduled.content, &mut export.files).await?;
        }
        let mut conversations = Vec::new();
        for found in contact
            .conversations
            .iter()
            .filter(|found| found.erased_at.is_none())
        {
            let Some(conversation) = deps.store().find_conversation(&found.id).await? else {
                continue;
            };
            let messages = export_messages(deps, &contact, &conversation, &mut export.files).await?;
            conversations.push(ExportedConversation {
                conversation,
                messages,
            });
        }
        export.instances.push(ExportedInstance {
            instance: contact.instance.id.clone(),
            addresses: contact
                .addresses
                .iter()
                .map(|address| address.as_str().to_owned())
                .collect(),
            conversations,
            scheduled,
        });
    }
    tracing::info!(tenant = %query.tenant, instances = export.instances.len(), "a contact was exported");
    Ok(export)
}

async fn list_scheduled(deps: &impl Deps, contact: &FoundContact) -> PortResult<Vec<ScheduledMessage>> {
    let mut scheduled = deps.store().list_pending_scheduled(&contact.instance.id).await?;
    scheduled.retain(|scheduled| contact.has_address(&scheduled.to));
    Ok(scheduled)
}

async fn export_messages(
    deps: &impl Deps,
    contact: &FoundContact,
    conversation: &Conversation,
    files: &mut Vec<ExportedFile>,
) -> PortResult<Vec<ExportedMessage>> {
    let mut page = PageRequest {
        limit: PAGE,
        cursor: None,
    };
    let mut exported = Vec::new();
    loop {
        let found = deps.store().list_messages(&conversation.id, &page).await?;
        for message in found.items {
            export_file(deps, &message.instance, &message.content, files).await?;
            let delivery = find_delivery(deps, contact, &message).await?;
            exported.push(ExportedMessage { message, delivery });
        }
        match found.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => return Ok(exported),
        }
    }
}

async fn find_delivery(
    deps: &impl Deps,
    contact: &FoundContact,
    message: &Message,
) -> PortResult<Option<Delivery>> {
    let (Some(external), true) = (contact.instance.resolve_external_id(), message.out.is_some()) else {
        return Ok(None);
    };
    let provider = contact.instance.provider;
    let own = DeliveryKey::from_own_id(provider, &external, &message.message_id());
    let told = message.provider_message_id.as_ref();
    let told = told.map(|id| DeliveryKey::from_provider_id(provider, &external, id));
    let keys: Vec<DeliveryKey> = std::iter::once(own).chain(told).collect();
    let found = deps.store().find_deliveries(&keys).await?;
    Ok(found.into_iter().flatten().next())
}

async fn export_file(
    deps: &impl Deps,
    instance: &InstanceId,
    content: &Content,
    files: &mut Vec<ExportedFile>,
) -> PortResult<()> {
    let source = content.media_file().and_then(|media| media.source.as_ref());
    let (Some(source), Some(key)) = (source, upload_key(instance, content)) else {
        return Ok(());
    };
    if files.iter().any(|file| file.source == *source) {
        return Ok(());
    }
    let Some(stored) = deps.queues().find_payload(&key).await? else {
        return Ok(());
    };
    let upload: StoredUpload =
        serde_json::from_value(stored).map_err(|error| PortError::invalid("upload", error))?;
    files.push(ExportedFile {
        source: source.clone(),
        mime_type: upload.mime_type,
        file_name: upload.file_name,
        base64: upload.base64,
    });
    Ok(())
}
