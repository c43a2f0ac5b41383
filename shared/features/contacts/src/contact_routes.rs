//! `/v1/contacts`: finds, exports and erases a contact. The contact stands in the body, because paths and queries of
//! requests are written to logs.

use crate::{
    ContactError, ContactExport, ContactQuery, EraseReport, ExportCursor, ExportedFile, ExportedMessageFile,
    FoundContact, FoundConversation,
};
use axum::Json;
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::access::Caller;
use recado_domain::ids::{InstanceId, TenantId};
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::{NotFound, Unprocessable};
use recado_http::api::request::{Asked, JsonAnswer, RequestBody};
use recado_http::problem::HttpProblem;
use recado_pipeline::ports::PortError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

impl From<ContactError> for HttpProblem {
    fn from(error: ContactError) -> Self {
        match error {
            ContactError::NotFound(_) => Self::not_found(error.to_string()),
            ContactError::Recipient(_) => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "`contact` must be a phone number with its country code, such as +55 11 98888-0000, or a WhatsApp \
                 address",
            ),
            ContactError::Port(error) => Self::from_port_error(&error),
        }
    }
}

/// The contact whose records are asked for, part by part.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"tenant": "demo", "contact": "+55 11 98888-0000"})))]
struct ExportRequest {
    /// Id of the tenant whose contact it is.
    tenant: TenantId,
    /// The phone number in any spelling, or an identity without a number (`…@lid`, a business-scoped user id).
    contact: String,
    /// Only on this instance. If absent, on all of the tenant.
    instance: Option<InstanceId>,
    /// `next_cursor` of the part before.
    cursor: Option<String>,
}

/// The person on each instance of the tenant where anything of it is stored.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ContactsView {
    items: Vec<FoundContactView>,
    /// Events that are not applied yet, or were given up.
    events: usize,
    /// Messages that are to be sent later.
    scheduled: usize,
    /// Occasions of which the person is a guest.
    guests: usize,
    /// Preferences about messages that nobody asked for. An erasure leaves them, without the address.
    opt_outs: usize,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct FoundContactView {
    instance_id: InstanceId,
    /// Addresses of the person: numbers and identities without a number.
    addresses: Vec<String>,
    /// Names by which the person calls itself.
    names: Vec<String>,
    conversations: Vec<FoundConversation>,
}

impl From<FoundContact> for FoundContactView {
    fn from(contact: FoundContact) -> Self {
        Self {
            instance_id: contact.instance.id,
            addresses: contact
                .addresses
                .iter()
                .map(|address| address.as_str().to_owned())
                .collect(),
            names: contact.names.into_iter().collect(),
            conversations: contact.conversations,
        }
    }
}

/// Finds a contact: its addresses, names and conversations, and how much is stored beside them.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/contacts/find",
    request_body = ContactQuery,
    responses((status = 200, body = ContactsView, description = "The contact on each instance"), NotFound, Unprocessable)
))]
pub async fn post_find(Asked(api, caller): Asked, body: RequestBody) -> JsonAnswer<ContactsView> {
    let query = read_query(&caller, body).await?;
    let found = crate::find_contact(&api.deps, &caller, &query).await?;
    Ok(Json(ContactsView {
        items: found.contacts.into_iter().map(FoundContactView::from).collect(),
        events: found.events,
        scheduled: found.scheduled,
        guests: found.guests,
        opt_outs: found.opt_outs,
    }))
}

/// A part of what is stored of a contact. A conversation that goes on in the next part is in both, each with other messages.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ContactExportView {
    tenant: TenantId,
    exported_at: Timestamp,
    /// The person on each instance: `instance`, `addresses`, `conversations` with their `messages`, `events` that are
    /// not applied, and `scheduled` messages. The records stand in it as they are stored.
    instances: Vec<Value>,
    /// Uploaded files that the messages name.
    files: Vec<ExportedFile>,
    /// The stored files of the messages in this part. Each is read by its `path`.
    message_files: Vec<ExportedMessageFileView>,
    /// The person as a guest of occasions: `guest` and `invitations`, as they are stored. They stand in the first part.
    guests: Vec<Value>,
    /// Preferences about messages that nobody asked for, as they are stored. They stand in the first part.
    opt_outs: Vec<Value>,
    /// The `cursor` of the next part. `null`: this is the last one.
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ExportedMessageFileView {
    /// Id of the message.
    message_id: String,
    /// Path of the route that answers with the file.
    path: String,
    mime_type: String,
    /// Number of bytes.
    bytes: u64,
    /// SHA-256 of the bytes, in hexadecimal digits.
    sha256: String,
    file_name: Option<String>,
}

impl From<ExportedMessageFile> for ExportedMessageFileView {
    fn from(file: ExportedMessageFile) -> Self {
        let message_id = file.message.to_string();
        Self {
            path: format!("/v1/messages/{message_id}/media"),
            message_id,
            mime_type: file.stored.mime_type,
            bytes: file.stored.bytes,
            sha256: file.stored.sha256,
            file_name: file.file_name,
        }
    }
}

/// Shows an export. The records stand in it as they are stored.
fn show_export(export: ContactExport) -> Result<ContactExportView, HttpProblem> {
    Ok(ContactExportView {
        tenant: export.tenant,
        exported_at: export.exported_at,
        instances: write_records(&export.instances)?,
        guests: write_records(&export.guests)?,
        opt_outs: write_records(&export.opt_outs)?,
        files: export.files,
        message_files: export
            .message_files
            .into_iter()
            .map(ExportedMessageFileView::from)
            .collect(),
        next_cursor: export.next.map(|next| next.to_string()),
    })
}

fn write_records(records: &[impl Serialize]) -> Result<Vec<Value>, HttpProblem> {
    let written: Result<Vec<Value>, _> = records.iter().map(serde_json::to_value).collect();
    written.map_err(|error| HttpProblem::from_port_error(&PortError::invalid("export", error)))
}

/// Exports everything that is stored of a contact, with its uploaded files, in parts of about 3 MB.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/contacts/export",
    request_body = ExportRequest,
    responses((status = 200, body = ContactExportView, description = "The export"), NotFound, Unprocessable)
))]
pub async fn post_export(Asked(api, caller): Asked, body: RequestBody) -> JsonAnswer<ContactExportView> {
    let request: ExportRequest = body.parse().await?;
    check_tenant(&caller, &request.tenant)?;
    let query = ContactQuery {
        tenant: request.tenant,
        contact: request.contact,
        instance: request.instance,
    };
    let after = request.cursor.as_deref().map(|cursor| {
        ExportCursor::parse(cursor)
            .ok_or_else(|| HttpProblem::bad_request("`cursor` is not one of an export"))
    });
    let after = after.transpose()?;
    let export = crate::export_contact(&api.deps, &caller, &query, after.as_ref()).await?;
    Ok(Json(show_export(export)?))
}

/// The result of an erasure, in numbers.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ErasureView {
    /// `false`: a message of the contact is being sent. The request must be repeated at `waits_until`.
    done: bool,
    waits_until: Option<Timestamp>,
    conversations: usize,
    messages: usize,
    /// Events that were not applied yet.
    events: usize,
    /// Dead letters and their copies.
    dead_letters: usize,
    /// Messages that were to be sent later.
    scheduled: usize,
    /// Guests of occasions, with their invitations.
    guests: usize,
}

impl From<EraseReport> for ErasureView {
    fn from(report: EraseReport) -> Self {
        Self {
            done: report.waits_until.is_none(),
            waits_until: report.waits_until,
            conversations: report.conversations,
            messages: report.messages,
            events: report.events,
            dead_letters: report.dead_letters,
            scheduled: report.scheduled,
            guests: report.guests,
        }
    }
}

/// Erases everything that is stored of a contact, for good.
///
/// A tombstone without personal data stays: it says that a contact was erased and when. A request that was cut off is
/// repeated and goes on.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/contacts/erase",
    request_body = ContactQuery,
    responses((status = 200, body = ErasureView, description = "What was erased"), NotFound, Unprocessable)
))]
pub async fn post_erase(Asked(api, caller): Asked, body: RequestBody) -> JsonAnswer<ErasureView> {
    let query = read_query(&caller, body).await?;
    Ok(Json(
        crate::erase_contact(&api.deps, &caller, &query).await?.into(),
    ))
}

/// Reads whom the request is about.
async fn read_query(caller: &Caller, body: RequestBody) -> Result<ContactQuery, HttpProblem> {
    let query: ContactQuery = body.parse().await?;
    check_tenant(caller, &query.tenant)?;
    Ok(query)
}

/// Refuses a tenant outside the caller's scope as an unknown one.
fn check_tenant(caller: &Caller, tenant: &TenantId) -> Result<(), ContactError> {
    if caller.scope.covers(tenant) {
        return Ok(());
    }
    Err(ContactError::NotFound("tenant"))
}
