//! The kinds of records that lie in the [table](crate::table): each declared once, with the functions that read and write it.
//!
//! | kind | partition, place | what leads to it |
//! | --- | --- | --- |
//! | `tokens` | the tenant or the installation; name | its hash, with a copy of the record, so that a request is let in by one read; all of the installation, by tenant and name |
//! | `sessions` | the installation; hash | |
//! | `turn-places` | the tenant; one record | |
//! | `removed-instances` | the installation; hash of the provider and its name | |
//! | `aliases` | the installation; thread of the other identity | |
//! | `client-keys` | the tenant; instance or conversation, and hash of the key | |
//! | `journals` | the tenant; thread | those with bookings, by the begin of the first one |
//! | `cells` | the tenant; calendar and begin | |
//! | `scheduled-messages` | the tenant; id | its id; the pending ones of an instance |
//! | `occasions` | the tenant; id | |
//! | `invitation-templates` | the tenant; name, channel and language | |
//! | `guests` | the tenant; occasion and id | the phone number and the occasion |
//! | `invitations` | the tenant; id, which tells the time | the guest of an occasion; the carrier's id of its e-mail |
//! | `invitation-claims` | the tenant; hash of the key | |
//! | `batches` | the tenant; id, which tells the time | |
//! | `batch-chunks` | the tenant; batch and number | |
//! | `page-changes` | the tenant; occasion | |
//! | `dead-letters` | the tenant or none; time of the failure, id, instance | its id; all of the installation, and those of the owner once more without their bodies, for counting: by time, id and instance |
//! | `tenants`, `calendars`, `tools`, `agents`, `instances` | the installation; id | all of a tenant, by kind and id (`configuration.of-tenant`); a tenant by its part of variables' names; the provider's name of an instance, with a copy of it |
//! | `alert-config`, `prices`, `applied-file` | the installation; one record each | |
//! | `knowledge` | the tenant; agent | |
//! | `opt-outs` | the tenant; key of the recipient | |
//! | `samples` | the tenant or the installation; time | |
//! | `audit` | the tenant or none; time and id | all of the installation, by time and id |
//! | `notices` | the installation; hash of the account, time and id | its id, which a repetition has too |
//! | `alerts` | the tenant or the installation; condition of a live one, end and id of an ended one | the live ones of all by tenant and condition; the ended ones of all by end and id |
//! | `alert-watch` | the installation; one record | |
//! | `notifications` | the tenant or the installation; id | all by state, tenant and id |
//! | `endpoints` | the tenant; webhook endpoint | all of the installation, by tenant and endpoint |
//! | `failed-posts` | the tenant; endpoint and place in the log | those that are tried on, by endpoint, time and place in the log |
//!
//! An index entry leads to a record. It is an item of its own under another key, which is written and deleted in the transaction of
//! the record, and holds the record's key or a copy. Each write gives an item another version, at random, which is the condition of the next write. The
//! cursor of a list is the place of the last record. A dead letter has another place and may have another owner with each failure of its
//! id: so the condition is the version of what leads to it by the id, and the write deletes the letter before it with what led to that.

pub mod alerts;
pub mod aliases;
pub mod applied_file;
pub mod audit;
pub mod batches;
pub mod claims;
pub mod client_keys;
pub mod configuration;
pub mod dead_letters;
pub mod effects;
pub mod endpoints;
pub mod guests;
pub mod invitations;
pub mod knowledge;
pub mod notices;
pub mod notifications;
pub mod occasions;
pub mod opt_outs;
pub mod removed_instances;
pub mod samples;
pub mod scheduled_messages;
pub mod sessions;
pub mod tokens;
pub mod turn_places;

use crate::ports::{PageRequest, PortError, PortResult};
use crate::table::{Kind, Record, Table};
use jiff::Timestamp;
use recado_domain::access::{ConsoleSession, Token};
use recado_domain::alert::{Alert, AlertWatch, Notification};
use recado_domain::audit::AuditEntry;
use recado_domain::config::{Agent, AlertConfig, AppliedFile, Calendar, Instance, Tenant};
use recado_domain::dead_letter::DeadLetter;
use recado_domain::effects::Journal;
use recado_domain::ids::{OccasionId, TenantId};
use recado_domain::invitations::{Batch, BatchChunk, Guest, Invitation, InvitationTemplate, Occasion};
use recado_domain::knowledge::AgentKnowledge;
use recado_domain::moving::{
    Dated, HeldKey, MovedAlias, MovedCell, MovedClaim, MovedPageChange, RemovedInstance,
};
use recado_domain::notice::Notice;
use recado_domain::opt_out::OptOut;
use recado_domain::price::PriceList;
use recado_domain::sample::MinuteSample;
use recado_domain::scheduled::ScheduledMessage;
use recado_domain::tools::Tool;
use recado_domain::turn_places::TurnPlaces;
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent};

/// All kinds, those that move in the order in which an export holds them. What goes over all records goes over this list.
pub static KINDS: [Kind; 36] = [
    Kind::of::<Tenant>(),
    Kind::of::<Calendar>(),
    Kind::of::<Tool>(),
    Kind::of::<Agent>(),
    Kind::of::<Instance>(),
    Kind::of::<AlertConfig>(),
    Kind::of::<PriceList>(),
    Kind::of::<AppliedFile>(),
    Kind::of::<Token>(),
    Kind::of::<ConsoleSession>(),
    Kind::of::<TurnPlaces>(),
    Kind::of::<RemovedInstance>(),
    Kind::of::<MovedAlias>(),
    Kind::of::<HeldKey>(),
    Kind::of::<Journal>(),
    Kind::of::<MovedCell>(),
    Kind::of::<ScheduledMessage>(),
    Kind::of::<Occasion>(),
    Kind::of::<InvitationTemplate>(),
    Kind::of::<Guest>(),
    Kind::of::<Invitation>(),
    Kind::of::<MovedClaim>(),
    Kind::of::<Batch>(),
    Kind::of::<BatchChunk>(),
    Kind::of::<MovedPageChange>(),
    Kind::of::<DeadLetter>(),
    Kind::of::<AgentKnowledge>(),
    Kind::of::<OptOut>(),
    Kind::of::<Dated<MinuteSample>>(),
    Kind::of::<Dated<AuditEntry>>(),
    Kind::of::<Dated<Notice>>(),
    Kind::of::<Alert>(),
    Kind::of::<AlertWatch>(),
    Kind::of::<Notification>(),
    Kind::of::<EndpointState>(),
    Kind::of::<FailedEvent>(),
];

/// Finds a kind by its name.
pub fn find_kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// Refuses a page whose cursor is no place of a record of this kind, as `is_place` tells.
fn check_cursor(kind: &'static str, page: &PageRequest, is_place: impl Fn(&str) -> bool) -> PortResult<()> {
    match &page.cursor {
        Some(cursor) if !is_place(cursor) => Err(PortError::invalid(kind, "not a cursor")),
        _ => Ok(()),
    }
}

/// Returns the beginning of the places of what belongs to an occasion. No id contains a `#`.
fn prefix_of_occasion(occasion: &OccasionId) -> String {
    format!("{occasion}#")
}

/// Lists tenants and ids of the records of a kind that are due, the longest due first. Their place is their id. The list may be some
/// seconds old.
async fn list_due_ids<T: Record, I, E>(
    table: &dyn Table,
    now: Timestamp,
    limit: usize,
    parse: impl Fn(&str) -> Result<I, E>,
) -> PortResult<Vec<(TenantId, I)>> {
    let kind = Kind::of::<T>();
    let due = table.list_due(&kind, now, limit).await?.into_iter();
    Ok(due
        .filter_map(|key| Some((key.partition.owner?, parse(&key.sort).ok()?)))
        .collect())
}
