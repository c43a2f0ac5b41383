//! Requests of clients of the API: they send, now or later, and take back what they scheduled.

use super::Simulator;
use super::people::REQUEST_PATIENCE_MS;
use crate::executor::Life;
use crate::fault_injector::FaultInjector;
use crate::queue::WorkQueues;
use jiff::Timestamp;
use recado_contacts::ContactQuery;
use recado_domain::access::Caller;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::ids::{EventId, IdempotencyKey, InstanceId, TenantId};
use recado_domain::millis::add_millis;
use recado_domain::options::SendOptions;
use recado_domain::scheduled::ScheduledId;
use recado_pipeline::ports::Store;
use recado_pipeline::random_id;
use recado_sends::{DeliverError, DeliverRequest};
use recado_tenant_removal as tenant_removal;
use recado_tenant_removal::{RemovalError, RemovalOptions};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

/// A client's order of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientOrder {
    /// On which instance.
    pub instance: InstanceId,
    /// To whom.
    pub to: ContactAddress,
    /// The words, which no other message says; also the client's key.
    pub text: String,
    /// Time at which it is to be sent, if later.
    pub send_at: Option<Timestamp>,
    /// The answer that the client got first: the id of the message, or of the scheduled one.
    pub accepted: Option<String>,
    /// `true` if the client asked to take it back.
    pub asks_back: bool,
    /// `true` if the client was told that it was taken back.
    pub is_cancelled: bool,
}

/// The erasure of a contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    /// Who.
    pub contact: ContactAddress,
    /// When it was asked for, in milliseconds since the start.
    pub begun_ms: i64,
    /// When the client was told that all is erased, in milliseconds since the start.
    pub told_ms: Option<i64>,
    /// Events that were acknowledged before the last request began.
    pub known: BTreeSet<EventId>,
    /// Ids of what was ordered and accepted before the last request began.
    pub accepted: BTreeSet<String>,
}

/// The removal of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// Which.
    pub tenant: TenantId,
    /// When the client was told that nothing is left, in milliseconds since the start.
    pub told_ms: Option<i64>,
}

/// The end of a request, for who asked. `None`: it is asked again.
type Answer<T> = Option<Result<T, ()>>;

fn answer<T>(done: Result<T, DeliverError>) -> Answer<T> {
    match done {
        Err(DeliverError::Port(_) | DeliverError::Busy) => None,
        done => Some(done.map_err(|_| ())),
    }
}

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// A client orders a message, again until that is answered; after `cancels_after` milliseconds it takes it back.
    pub fn order(self: &Arc<Self>, order: ClientOrder, cancels_after: Option<i64>) {
        self.ledger().pending += 1;
        let place = {
            let mut ledger = self.ledger();
            ledger.orders.push(order.clone());
            ledger.orders.len() - 1
        };
        let sim = Arc::clone(self);
        self.simulation().spawn(Life::default(), async move {
            for _ in 0..20 {
                if let Some(told) = sim.order_once(&order).await {
                    sim.ledger().orders[place].accepted = told.ok();
                    break;
                }
                sim.simulation().sleep(8_000).await;
            }
            let accepted = sim.ledger().orders[place].accepted.clone();
            if let (Some(after_ms), Some(id)) = (cancels_after, accepted) {
                sim.simulation().sleep(after_ms).await;
                sim.take_back(place, &id).await;
            }
            sim.ledger().pending -= 1;
        });
    }

    /// A client repeats an order, until that is answered.
    pub async fn order_again(self: &Arc<Self>, order: &ClientOrder) {
        for _ in 0..20 {
            if self.order_once(order).await.is_some() {
                break;
            }
            self.simulation().sleep(8_000).await;
        }
    }

    async fn take_back(self: &Arc<Self>, place: usize, id: &str) {
        let Ok(id) = ScheduledId::parse(id) else { return };
        self.ledger().orders[place].asks_back = true;
        for _ in 0..20 {
            if let Some(told) = self.cancel_once(&id).await {
                self.ledger().orders[place].is_cancelled = told.is_ok();
                return;
            }
            self.simulation().sleep(8_000).await;
        }
    }

    async fn order_once(self: &Arc<Self>, order: &ClientOrder) -> Answer<String> {
        let injector = FaultInjector::new(&self.common, "api");
        let (world, order, caller) = (self.world(&injector), order.clone(), injector.clone());
        let request = async move {
            let send = DeliverRequest {
                to: order.to.as_str().to_owned(),
                content: Content::from_text(order.text.clone()),
                options: SendOptions::default(),
                key: IdempotencyKey::parse(&order.text).ok(),
                metadata: None,
                send_at: order.send_at,
                correlation: random_id::generate_correlation_id(&caller),
            };
            let done =
                recado_sends::accept_message(&world, &Caller::installation(), &order.instance, send).await;
            answer(done.map(|accepted| accepted.id.to_string()))
        };
        self.answered_in(injector, REQUEST_PATIENCE_MS, request)
            .await
            .flatten()
    }

    async fn cancel_once(self: &Arc<Self>, id: &ScheduledId) -> Answer<()> {
        let injector = FaultInjector::new(&self.common, "api");
        let (world, id) = (self.world(&injector), id.clone());
        let request = async move {
            let done = recado_sends::cancel_scheduled(&world, &Caller::installation(), &id).await;
            answer(done.map(|_| ()))
        };
        self.answered_in(injector, REQUEST_PATIENCE_MS, request)
            .await
            .flatten()
    }

    /// A client erases a contact, again until it is told that all is erased.
    pub async fn erase(self: &Arc<Self>, tenant: &TenantId, contact: &ContactAddress) {
        let erasure = Erasure {
            contact: contact.clone(),
            begun_ms: self.simulation().elapsed_ms(),
            told_ms: None,
            known: BTreeSet::new(),
            accepted: BTreeSet::new(),
        };
        let place = {
            let mut ledger = self.ledger();
            ledger.erased.push(erasure);
            ledger.erased.len() - 1
        };
        for _ in 0..20 {
            self.ledger().begin_erasure(place);
            if self.erase_once(tenant, contact).await {
                self.ledger().erased[place].told_ms = Some(self.simulation().elapsed_ms());
                return;
            }
            self.simulation().sleep(8_000).await;
        }
    }

    /// Returns `true` if the answer says that nothing waits.
    async fn erase_once(self: &Arc<Self>, tenant: &TenantId, contact: &ContactAddress) -> bool {
        let injector = FaultInjector::new(&self.common, "api");
        let world = self.world(&injector);
        let query = ContactQuery {
            tenant: tenant.clone(),
            instance: None,
            contact: contact.as_str().to_owned(),
        };
        let request = async move {
            let done = recado_contacts::erase_contact(&world, &Caller::installation(), &query).await;
            done.is_ok_and(|done| done.waits_until.is_none())
        };
        self.answered_in(injector, REQUEST_PATIENCE_MS, request).await == Some(true)
    }

    /// A client removes a tenant, again until it is told that nothing is left.
    pub async fn remove_tenant(self: &Arc<Self>, tenant: &TenantId) {
        let place = {
            let mut ledger = self.ledger();
            ledger.removals.push(Removal {
                tenant: tenant.clone(),
                told_ms: None,
            });
            ledger.removals.len() - 1
        };
        for _ in 0..60 {
            if self.remove_once(tenant).await {
                self.ledger().removals[place].told_ms = Some(self.simulation().elapsed_ms());
                return;
            }
            self.simulation().sleep(8_000).await;
        }
    }

    /// Returns `true` if the answer says that nothing is left.
    async fn remove_once(self: &Arc<Self>, tenant: &TenantId) -> bool {
        let injector = FaultInjector::new(&self.common, "api");
        let (world, tenant) = (self.world(&injector), tenant.clone());
        let request = async move {
            let options = RemovalOptions {
                force: true,
                ..RemovalOptions::default()
            };
            let removed =
                tenant_removal::remove_tenant(&world, &Caller::installation(), &tenant, options).await;
            match removed {
                Ok(report) => report.done,
                // The answer to the last request was lost.
                Err(RemovalError::NotFound) => true,
                Err(_) => false,
            }
        };
        self.answered_in(injector, REQUEST_PATIENCE_MS, request).await == Some(true)
    }

    /// An order from now on, `ahead_ms` milliseconds ahead.
    pub fn order_of(
        &self,
        instance: &InstanceId,
        to: &ContactAddress,
        text: String,
        ahead_ms: Option<i64>,
    ) -> ClientOrder {
        ClientOrder {
            instance: instance.clone(),
            to: to.clone(),
            text,
            send_at: ahead_ms.map(|ahead| add_millis(self.simulation().now(), ahead)),
            accepted: None,
            asks_back: false,
            is_cancelled: false,
        }
    }
}
