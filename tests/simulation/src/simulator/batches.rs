//! Batches of invitations: a client sends them, and orders them to pause, to go on and to end.

use super::Simulator;
use super::people::REQUEST_PATIENCE_MS;
use crate::fault_injector::FaultInjector;
use crate::plan::template;
use crate::queue::WorkQueues;
use futures::executor::block_on;
use recado_batches::BatchRequest;
use recado_domain::access::Caller;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::ids::{BatchId, GuestId, IdempotencyKey, InstanceId, InvitationTemplateName, OccasionId};
use recado_domain::instance::{InstanceChange, InstanceState, MessagingLimit, SeenStanding};
use recado_domain::invitations::{
    BatchOrder, BatchState, GuestRow, InvitationChannel, InvitationTemplate, Occasion, TemplateValues,
};
use recado_domain::provider::Provider;

use recado_pipeline::ports::Store;
use recado_pipeline::random_id;
use recado_pipeline::records::batches::find_batch;
use recado_pipeline::table::put_record;
use std::fmt::Debug;
use std::sync::Arc;

/// A guest who is to get an invitation once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitedContact {
    /// By which instance.
    pub instance: InstanceId,
    /// Whose phone it is.
    pub to: ContactAddress,
    /// The words of the invitation.
    pub words: String,
}

/// A time in which nothing of a batch may begin to leave, in milliseconds since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchStop {
    /// When the client was told that the batch is stopped.
    pub told_ms: i64,
    /// When the client let it go on; `None`: never.
    pub until_ms: Option<i64>,
}

/// A batch as its client knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientBatch {
    /// Its id.
    pub id: BatchId,
    /// When it was stopped.
    pub stops: Vec<BatchStop>,
}

/// A limit of the people to whom a portfolio's numbers may write first in 24 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToldLimit {
    /// When the provider told it, in milliseconds since the start.
    pub from_ms: i64,
    /// Number of people.
    pub people: u32,
}

pub(super) fn occasion_id(line: usize) -> OccasionId {
    OccasionId::parse(&format!("party-{line}")).expect("an id")
}

pub(super) fn template_name() -> InvitationTemplateName {
    InvitationTemplateName::parse("invite").expect("a name")
}

pub(super) fn guest_id(number: usize) -> GuestId {
    GuestId::parse(&format!("g{number}")).expect("an id")
}

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// Stores an occasion of an instance with these guests, and a template. At Meta that is an approved one, since nobody wrote
    /// before.
    pub fn prepare_occasion(&self, line: usize, guests: &[ContactAddress]) {
        let instance = &self.bounds[line].instance;
        let approved = (instance.provider == Provider::Meta).then(template);
        let occasion = Occasion {
            id: occasion_id(line),
            tenant: instance.tenant.clone(),
            name: Some("party".to_owned()),
            instance: instance.id.clone(),
            starts_at: None,
            time_zone: None,
            language: None,
            cancelled: false,
            reminders: Vec::new(),
        };
        let words = |number: usize| match &approved {
            Some(approved) => Content::Template(approved.clone()).render_text(),
            None => format!("invite b{number}"),
        };
        let template = InvitationTemplate {
            name: template_name(),
            tenant: instance.tenant.clone(),
            channel: InvitationChannel::Whatsapp,
            language: None,
            subject: None,
            html: None,
            text: approved.is_none().then(|| "invite {{guest_name}}".to_owned()),
            approved: approved.clone(),
        };
        block_on(put_record(&self.store, &occasion)).expect("the occasion is kept");
        block_on(put_record(&self.store, &template)).expect("the template is kept");
        let row = |number: usize, to: &ContactAddress| GuestRow {
            id: Some(guest_id(number)),
            name: Some(format!("b{number}")),
            phone: to.phone_number(),
            ..GuestRow::default()
        };
        let rows = guests.iter().enumerate();
        let rows = rows
            .map(|(number, to)| (number + 1, Ok(row(number, to))))
            .collect();
        let (deps, caller, tenant) = (self.calm_deps(), Caller::installation(), Some(&instance.tenant));
        let added = block_on(recado_occasions::add_guests(
            &deps,
            &caller,
            tenant,
            &occasion.id,
            rows,
        ));
        assert_eq!(added.expect("the guests are kept").added, guests.len());
        let invited = guests.iter().enumerate().map(|(number, to)| InvitedContact {
            instance: instance.id.clone(),
            to: to.clone(),
            words: words(number),
        });
        self.ledger().invited.extend(invited);
    }

    /// The provider tells of all numbers that their portfolio may write first to so many people in 24 hours.
    pub async fn tell_limit(&self, people: u32) {
        let standing = InstanceChange::Standing {
            seen: SeenStanding {
                limit: Some(MessagingLimit::People(people)),
                ..SeenStanding::default()
            },
            now: self.simulation().now(),
        };
        for bound in &self.bounds {
            let (id, seen) = (&bound.instance.id, InstanceState::default());
            let told = self.store.change_instance_state(id, &seen, &standing).await;
            told.expect("the limit is kept");
        }
        let from_ms = self.simulation().elapsed_ms();
        self.ledger().limits.push(ToldLimit { from_ms, people });
    }

    /// A client sends a batch to the first `guests` guests of an instance's occasion, again until that is answered. Returns its place in
    /// the ledger.
    pub async fn send_batch(self: &Arc<Self>, line: usize, guests: usize, key: &str) -> Option<usize> {
        for _ in 0..20 {
            if let Some(id) = self.send_batch_once(line, guests, key).await {
                let mut ledger = self.ledger();
                ledger.batches.push(ClientBatch {
                    id,
                    stops: Vec::new(),
                });
                return Some(ledger.batches.len() - 1);
            }
            self.simulation().sleep(8_000).await;
        }
        None
    }

    async fn send_batch_once(self: &Arc<Self>, line: usize, guests: usize, key: &str) -> Option<BatchId> {
        let injector = FaultInjector::new(&self.common, "api");
        let (world, caller) = (self.world(&injector), injector.clone());
        let request = BatchRequest {
            tenant: Some(self.bounds[line].instance.tenant.clone()),
            occasion: occasion_id(line),
            guests: (0..guests).map(guest_id).collect(),
            channel: InvitationChannel::Whatsapp,
            template: template_name(),
            variables: TemplateValues::new(),
            metadata: None,
            send_at: None,
            key: IdempotencyKey::parse(key).ok(),
            correlation: random_id::generate_correlation_id(&caller),
        };
        let request = async move {
            let sent = Box::pin(recado_batches::send_batch(
                &world,
                &Caller::installation(),
                request,
            ))
            .await;
            sent.ok().map(|accepted| accepted.batch.id)
        };
        self.answered_in(injector, REQUEST_PATIENCE_MS, request)
            .await
            .flatten()
    }

    /// A client gives an order about a batch, again until it is answered.
    pub async fn order_batch(self: &Arc<Self>, place: usize, order: BatchOrder) {
        let id = self.ledger().batches[place].id.clone();
        if order == BatchOrder::Resume {
            let now = self.simulation().elapsed_ms();
            if let Some(stop) = self.ledger().batches[place].stops.last_mut() {
                stop.until_ms.get_or_insert(now);
            }
        }
        let mut is_told = false;
        for _ in 0..20 {
            is_told = self.order_batch_once(&id, order).await == Some(true);
            if is_told {
                break;
            }
            self.simulation().sleep(8_000).await;
        }
        if is_told && order != BatchOrder::Resume {
            let told_ms = self.simulation().elapsed_ms();
            let stop = BatchStop {
                told_ms,
                until_ms: None,
            };
            self.ledger().batches[place].stops.push(stop);
        }
    }

    /// Whether a batch is paused.
    pub fn is_batch_paused(&self, place: usize) -> bool {
        let id = self.ledger().batches[place].id.clone();
        let tenant = &self.bounds[0].instance.tenant;
        let found = block_on(find_batch(&self.store, tenant, &id)).ok().flatten();
        found.is_some_and(|batch| batch.record.state == BatchState::Paused)
    }

    async fn order_batch_once(self: &Arc<Self>, id: &BatchId, order: BatchOrder) -> Option<bool> {
        let injector = FaultInjector::new(&self.common, "api");
        let (world, id) = (self.world(&injector), id.clone());
        let request = async move {
            let ordered =
                recado_batches::order_batch(&world, &Caller::installation(), None, &id, order).await;
            ordered.is_ok()
        };
        self.answered_in(injector, REQUEST_PATIENCE_MS, request).await
    }
}
