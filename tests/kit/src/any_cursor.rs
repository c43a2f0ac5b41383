//! Asks every list of a store for the page at a cursor that anybody may have written. The fuzzing includes this file, too.

use recado_domain::Timestamp;
use recado_domain::config::{Agent, Calendar, Instance, Tenant};
use recado_domain::ids::{ConversationId, OccasionId, TenantId, WebhookEndpointId};
use recado_domain::invitations::LogMonth;
use recado_domain::tools::Tool;
use recado_ports::ports::{ConversationFilter, PageRequest, PortError, Store, UnacknowledgedFilter};
use recado_ports::records::alerts::list_ended_alerts;
use recado_ports::records::audit::{AuditFilter, list_audit};
use recado_ports::records::batches::list_batches;
use recado_ports::records::configuration::list_entries;
use recado_ports::records::dead_letters::{DeadLetterFilter, list_dead_letters};
use recado_ports::records::endpoints::list_failed_events;
use recado_ports::records::guests::list_guests;
use recado_ports::records::invitations::{list_invitations, list_invitations_of_month};
use recado_ports::records::occasions::list_occasions;
use recado_ports::records::opt_outs::list_opt_outs;
use recado_ports::records::tokens::list_tokens;

/// The result of one list: its name, and the number of its records, or why the cursor was refused.
pub type CursorAnswer = (&'static str, Result<usize, PortError>);

/// Asks each list of a tenant for the page at `cursor`.
///
/// # Panics
///
/// If an id in it is none.
pub async fn ask_every_list<S: Store>(store: &S, tenant: &TenantId, cursor: &str) -> Vec<CursorAnswer> {
    let page = &PageRequest {
        limit: 5,
        cursor: Some(cursor.to_owned()),
    };
    let of = Some(tenant);
    let conversations = &ConversationFilter {
        tenant: of.cloned(),
        ..ConversationFilter::default()
    };
    let letters = &DeadLetterFilter {
        tenant: of.cloned(),
        ..DeadLetterFilter::default()
    };
    let audited = &AuditFilter {
        tenant: of.cloned(),
        ..AuditFilter::default()
    };
    let unacknowledged = &UnacknowledgedFilter {
        tenant: of.cloned(),
        ..UnacknowledgedFilter::default()
    };
    let conversation = &ConversationId::parse("c_00000000000000000000000000000001-1").expect("an id");
    let occasion = &OccasionId::parse("nobodys-occasion").expect("an id");
    let endpoint = &WebhookEndpointId::parse("nobodys").expect("an id");
    let month = LogMonth::of_instant(Timestamp::UNIX_EPOCH);
    let mut answers = Vec::new();
    macro_rules! ask {
        ($($name:literal: $list:expr;)*) => {
            $(answers.push(($name, $list.await.map(|page| page.items.len())));)*
        };
    }
    ask! {
        "conversations": store.search_conversations(conversations, page);
        "waiting conversations": store.list_waiting_conversations(conversations, page);
        "messages": store.list_messages(conversation, page);
        "unacknowledged": store.list_unacknowledged(unacknowledged, Timestamp::UNIX_EPOCH, page);
        "batches": list_batches(store, tenant, page);
        "tenants": list_entries::<Tenant>(store, None, page);
        "calendars": list_entries::<Calendar>(store, of, page);
        "tools": list_entries::<Tool>(store, of, page);
        "agents": list_entries::<Agent>(store, of, page);
        "instances": list_entries::<Instance>(store, of, page);
        "alerts": list_ended_alerts(store, of, page);
        "failed events": list_failed_events(store, tenant, endpoint, page);
        "dead letters": list_dead_letters(store, letters, page);
        "audit": list_audit(store, audited, page);
        "opt-outs": list_opt_outs(store, tenant, page);
        "tokens": list_tokens(store, of, page);
        "occasions": list_occasions(store, tenant, page);
        "guests": list_guests(store, tenant, occasion, page);
        "invitations": list_invitations(store, tenant, occasion, None, page);
        "invitations of a month": list_invitations_of_month(store, tenant, month, page);
    }
    answers
}
