//! Exports everything that is stored of a contact, and the files that clients uploaded for it, in parts: an answer on AWS
//! holds 6 MB at most. The files of messages are larger, and named.

mod records;

use crate::belongings::{list_opt_outs, list_scheduled, list_unapplied_events, read_event};
pub use crate::export::records::{ContactExport, ExportedFile, ExportedGuest, ExportedMessageFile};
use crate::export::records::{
    ExportedConversation, ExportedInstance, ExportedMessage, describe_file, export_guests,
};
use crate::lookup::{ContactQuery, FoundContact, find_on_instances};
use crate::{ContactError, audit_contacts};
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::{Delivery, DeliveryKey};
use recado_domain::effects::Journal;
use recado_domain::ids::{ConversationId, InstanceId, Ordinal};
use recado_domain::message::Message;
use recado_pipeline::Deps;
use recado_pipeline::steps::upload::{StoredUpload, upload_key};
use recado_ports::ports::{PortError, PortResult};
use recado_ports::records::effects::find_journal;
use serde::Serialize;
use std::fmt;

const PAGE: usize = 100;

/// Greatest size of a part, in bytes of its records and files. A larger file is a part of its own.
const PART_BYTES: usize = 3_000_000;

/// The place at which the next part of an export begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportCursor {
    instance: InstanceId,
    place: ExportPlace,
}

/// The place on one instance: events that are not applied come first, then messages that are to be sent later, then
/// conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ExportPlace {
    /// After so many events.
    Events(usize),
    /// After so many messages that are to be sent later.
    Scheduled(usize),
    /// After this message of the conversation.
    Message(ConversationId, Ordinal),
}

impl ExportPlace {
    const START: Self = Self::Events(0);

    /// Returns how many messages that are to be sent later were exported before; `None`: all were.
    fn first_scheduled(&self) -> Option<usize> {
        match self {
            Self::Events(_) => Some(0),
            Self::Scheduled(first) => Some(*first),
            Self::Message(..) => None,
        }
    }
}

impl fmt::Display for ExportCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            ExportPlace::Events(number) => write!(f, "{}~events~{number}", self.instance),
            ExportPlace::Scheduled(number) => write!(f, "{}~scheduled~{number}", self.instance),
            ExportPlace::Message(id, ordinal) => write!(f, "{}~{id}~{}", self.instance, ordinal.0),
        }
    }
}

impl ExportCursor {
    /// Parses the text of a cursor. `None`: no export gave it.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.rsplitn(3, '~');
        let (number, place, instance) = (parts.next()?, parts.next()?, parts.next()?);
        let place = match place {
            "events" => ExportPlace::Events(number.parse().ok()?),
            "scheduled" => ExportPlace::Scheduled(number.parse().ok()?),
            id => ExportPlace::Message(ConversationId::parse(id).ok()?, Ordinal(number.parse().ok()?)),
        };
        let instance = InstanceId::parse(instance).ok()?;
        Some(Self { instance, place })
    }
}

/// Exports what is stored of a contact, from `after` on, as much as one part holds. Tombstones are left out.
pub async fn export_contact(
    deps: &Deps,
    caller: &Caller,
    query: &ContactQuery,
    after: Option<&ExportCursor>,
) -> Result<ContactExport, ContactError> {
    let mut found = find_on_instances(deps, query).await?;
    audit_contacts(deps, caller, AuditAction::ContactExported, (query, &found)).await?;
    found.sort_by(|a, b| a.instance.id.cmp(&b.instance.id));
    let mut part = ExportPart::default();
    let mut export = ContactExport {
        tenant: query.tenant.clone(),
        exported_at: deps.system().now(),
        instances: Vec::new(),
        files: Vec::new(),
        message_files: Vec::new(),
        guests: Vec::new(),
        opt_outs: Vec::new(),
        next: None,
    };
    if after.is_none() {
        let addresses = query.collect_addresses(&found);
        export.guests = export_guests(deps, &query.tenant, &addresses).await?;
        export.opt_outs = list_opt_outs(deps, &query.tenant, &addresses).await?;
    }
    let left = |contact: &&FoundContact| after.is_none_or(|after| contact.instance.id >= after.instance);
    for contact in found.iter().filter(left) {
        let here = after.filter(|after| after.instance == contact.instance.id);
        let begin = here.map_or(&ExportPlace::START, |after| &after.place);
        let (exported, stopped) = part.export_instance(deps, contact, begin).await?;
        if !exported.is_empty() {
            export.instances.push(exported);
        }
        if let Some(place) = stopped {
            let instance = contact.instance.id.clone();
            export.next = Some(ExportCursor { instance, place });
            break;
        }
    }
    export.files = part.files;
    let conversations = export.instances.iter().flat_map(|one| &one.conversations);
    let messages = conversations.flat_map(|one| &one.messages);
    export.message_files = messages.filter_map(|told| describe_file(&told.message)).collect();
    tracing::info!(
        tenant = %query.tenant, instances = export.instances.len(), more = export.next.is_some(), "a contact was exported"
    );
    Ok(export)
}

/// A part of an export, as it is filled.
#[derive(Default)]
struct ExportPart {
    bytes: usize,
    files: Vec<ExportedFile>,
}

impl ExportPart {
    /// Takes a record with the file that its content names. `false`, and nothing is taken: the part is full.
    async fn take_record(
        &mut self,
        deps: &Deps,
        instance: &InstanceId,
        record: &impl Serialize,
        content: &Content,
    ) -> PortResult<bool> {
        let file = self.find_file(deps, instance, content).await?;
        let bytes = count_bytes(record)? + file.as_ref().map_or(0, |file| file.base64.len());
        let is_taken = self.take_bytes(bytes);
        self.files.extend(file.filter(|_| is_taken));
        Ok(is_taken)
    }

    /// Takes so many bytes. `false`, and nothing is taken: the part is full.
    fn take_bytes(&mut self, bytes: usize) -> bool {
        let fits = self.bytes == 0 || self.bytes + bytes <= PART_BYTES;
        self.bytes += if fits { bytes } else { 0 };
        fits
    }

    /// Exports the person's records on one instance from `begin` on. Returns where it stopped because the part was full.
    async fn export_instance(
        &mut self,
        deps: &Deps,
        contact: &FoundContact,
        begin: &ExportPlace,
    ) -> Result<(ExportedInstance, Option<ExportPlace>), ContactError> {
        let instance = &contact.instance.id;
        let addresses = contact
            .addresses
            .iter()
            .map(|address| address.as_str().to_owned());
        let mut exported = ExportedInstance {
            instance: instance.clone(),
            addresses: addresses.collect(),
            conversations: Vec::new(),
            events: Vec::new(),
            scheduled: Vec::new(),
            journals: Vec::new(),
        };
        if *begin == ExportPlace::START {
            exported.journals = self.export_journals(deps, contact).await?;
        }
        if let ExportPlace::Events(first) = begin {
            let events = list_unapplied_events(deps, contact).await?;
            for (number, (job, is_dead)) in events.into_iter().enumerate().skip(*first) {
                let event = read_event(deps, job, is_dead).await?;
                if !self.take_bytes(count_bytes(&event)?) {
                    return Ok((exported, Some(ExportPlace::Events(number))));
                }
                exported.events.push(event);
            }
        }
        if let Some(first) = begin.first_scheduled() {
            let scheduled = list_scheduled(deps, contact).await?;
            let scheduled = scheduled.into_iter().map(|found| found.record);
            for (number, scheduled) in scheduled.enumerate().skip(first) {
                let content = &scheduled.content;
                if !self.take_record(deps, instance, &scheduled, content).await? {
                    return Ok((exported, Some(ExportPlace::Scheduled(number))));
                }
                exported.scheduled.push(scheduled);
            }
        }
        let stopped = self
            .export_conversations(deps, contact, begin, &mut exported)
            .await?;
        Ok((exported, stopped))
    }

    /// Exports the conversations from `begin` on. Returns where it stopped because the part was full.
    async fn export_conversations(
        &mut self,
        deps: &Deps,
        contact: &FoundContact,
        begin: &ExportPlace,
        exported: &mut ExportedInstance,
    ) -> Result<Option<ExportPlace>, ContactError> {
        let conversations = contact.conversations.iter();
        let conversations: Vec<_> = conversations.filter(|found| found.erased_at.is_none()).collect();
        let (first, mut after) = match begin {
            ExportPlace::Events(_) | ExportPlace::Scheduled(_) => (0, Ordinal(0)),
            ExportPlace::Message(id, after) => {
                let place = conversations.iter().position(|found| found.id == *id);
                let gone = ContactError::NotFound("place in the export: begin anew");
                (place.ok_or(gone)?, *after)
            }
        };
        for found in conversations.into_iter().skip(first) {
            let Some(conversation) = deps.store().find_conversation(&found.id).await? else {
                continue;
            };
            let (messages, stopped) = self.export_messages(deps, contact, &conversation, after).await?;
            after = Ordinal(0);
            exported.conversations.push(ExportedConversation {
                conversation,
                messages,
            });
            if let Some(last) = stopped {
                return Ok(Some(ExportPlace::Message(found.id.clone(), last)));
            }
        }
        Ok(None)
    }

    /// Takes the journals of the person's threads, whatever their size: no journal is larger than a message may be.
    async fn export_journals(&mut self, deps: &Deps, contact: &FoundContact) -> PortResult<Vec<Journal>> {
        let mut journals = Vec::new();
        for thread in &contact.threads {
            let found = find_journal(deps.store(), &contact.instance.tenant, thread).await?;
            journals.extend(found.map(|found| found.record));
        }
        self.bytes += count_bytes(&journals)?;
        Ok(journals)
    }

    /// Exports the messages after `after`. Returns the ordinal of the last one if the part was full.
    async fn export_messages(
        &mut self,
        deps: &Deps,
        contact: &FoundContact,
        conversation: &Conversation,
        mut after: Ordinal,
    ) -> PortResult<(Vec<ExportedMessage>, Option<Ordinal>)> {
        let mut exported = Vec::new();
        loop {
            let found = deps
                .store()
                .list_messages_after(&conversation.id, after, PAGE)
                .await?;
            if found.is_empty() {
                return Ok((exported, None));
            }
            for message in found {
                let delivery = find_delivery(deps, contact, &message).await?;
                let told = ExportedMessage { message, delivery };
                let message = &told.message;
                if !self
                    .take_record(deps, &message.instance, &told, &message.content)
                    .await?
                {
                    return Ok((exported, Some(after)));
                }
                after = message.ordinal;
                exported.push(told);
            }
        }
    }

    /// Finds the uploaded file that the content names, unless the part has it already.
    async fn find_file(
        &self,
        deps: &Deps,
        instance: &InstanceId,
        content: &Content,
    ) -> PortResult<Option<ExportedFile>> {
        let source = content.media_file().and_then(|media| media.source.as_ref());
        let (Some(source), Some(key)) = (source, upload_key(instance, content)) else {
            return Ok(None);
        };
        if self.files.iter().any(|file| file.source == *source) {
            return Ok(None);
        }
        let Some(stored) = deps.queues().find_payload(&key).await? else {
            return Ok(None);
        };
        let upload: StoredUpload =
            serde_json::from_value(stored).map_err(|error| PortError::invalid("upload", error))?;
        Ok(Some(ExportedFile {
            source: source.clone(),
            mime_type: upload.mime_type,
            file_name: upload.file_name,
            base64: upload.base64,
        }))
    }
}

/// Returns the number of bytes of a record in the export.
fn count_bytes(record: &impl Serialize) -> PortResult<usize> {
    let text = serde_json::to_vec(record).map_err(|error| PortError::invalid("export", error))?;
    Ok(text.len())
}

async fn find_delivery(
    deps: &Deps,
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
