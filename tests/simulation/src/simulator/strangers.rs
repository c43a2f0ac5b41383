//! Holders of one tenant's token who ask for another tenant's records, by the ways in that the API has, while messages
//! flow. Calendars, tools, knowledge and alerts are asked for by the tests of every route alone. No answer may name anything of the other tenant, and nothing of it may change.

mod messages;
mod people;
mod way;

pub use way::Way;

use super::people::REQUEST_PATIENCE_MS;
use super::{FunctionWorld, Simulator};
use crate::executor::Life;
use crate::fault_injector::FaultInjector;
use crate::plan::address;
use crate::queue::WorkQueues;
use jiff::SignedDuration;
use messages::{KnownRecords, line_number};
use recado_access as tokens;
use recado_access::NewToken;
use recado_configuration::EntryMatch;
use recado_contacts::{ContactQuery, EraseReport};
use recado_domain::access::{Caller, Scope, TokenRole};
use recado_domain::config::{Agent, Instance, InstanceConfig, Tenant};
use recado_domain::content::Content;
use recado_domain::conversation::ConversationMode;
use recado_domain::ids::{ConversationId, Ordinal, TenantId, TokenName};
use recado_domain::options::SendOptions;
use recado_message_views::trace::{TraceTarget, find_trace};
use recado_operators::OperatorAnswer;
use recado_pipeline::ports::{ConversationFilter, PageRequest, Store};
use recado_pipeline::random_id;
use recado_pipeline::records::audit::AuditFilter;
use recado_pipeline::records::dead_letters::DeadLetterFilter;
use recado_tenant_removal::{RemovalOptions, remove_tenant};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

/// How often a stranger asks by every way, and how long it waits in between.
const ROUNDS: i64 = 6;
const PAUSE_MS: i64 = 41_000;

/// The number of contacts that a line has at most: three of the history, and one that sends voice notes.
const CONTACTS: usize = 4;

/// Somebody with a token of the tenant `own`, who knows the names of another tenant.
#[derive(Debug, Clone)]
struct Stranger {
    own: TenantId,
    other: InstanceConfig,
    caller: Caller,
}

/// The answer to a request that a stranger should be refused.
fn told<T, E>(what: &str, done: Result<T, E>) -> String {
    done.map_or_else(|_| String::new(), |_| format!("DONE: {what}\n"))
}

/// The answer to a request whose answer a stranger may read.
fn shown<T: Debug, E>(found: Result<T, E>) -> String {
    found.map_or_else(|_| String::new(), |found| format!("{found:?}\n"))
}

fn page() -> PageRequest {
    PageRequest::first(50)
}

impl Stranger {
    fn new(own: &TenantId, other: &InstanceConfig, is_limited: bool) -> Self {
        Self {
            own: own.clone(),
            other: other.clone(),
            caller: Caller {
                name: TokenName::parse("stranger").expect("a name"),
                role: TokenRole::Admin,
                scope: if is_limited {
                    Scope::Tenant(own.clone())
                } else {
                    Scope::Installation
                },
                request: None,
            },
        }
    }

    /// The addresses of the other tenant's contacts.
    fn contacts(&self) -> Vec<String> {
        let line = line_number(&self.other.instance);
        (0..CONTACTS)
            .map(|contact| address(line, contact).as_str().to_owned())
            .collect()
    }

    /// What no answer may hold.
    fn marks(&self) -> Vec<String> {
        let names = [
            self.other.tenant.id.as_str(),
            self.other.agent.id.as_str(),
            self.other.instance.id.as_str(),
            "DONE: ",
        ];
        let digits = self.contacts().into_iter().map(|address| {
            let digits = address.split('@').next().unwrap_or_default();
            digits.to_owned()
        });
        names.iter().map(ToString::to_string).chain(digits).collect()
    }

    async fn ask<S, Q>(&self, way: Way, world: &FunctionWorld<S, Q>, known: &KnownRecords) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        match way {
            Way::Entries | Way::Entry => self.ask_for_entries(way, world).await,
            Way::FindContact | Way::ExportContact | Way::EraseContact => {
                self.ask_for_contacts(way, world).await
            }
            Way::Conversations | Way::DeadLetters | Way::Tokens | Way::Audit | Way::Events => {
                self.ask_for_lists(way, world).await
            }
            Way::Conversation | Way::ChangeConversation => {
                let mut answers = String::new();
                for id in &known.conversations {
                    answers += &Box::pin(self.ask_about(way, world, id)).await;
                }
                answers
            }
            Way::Files => self.ask_for_files(world, known).await,
            Way::Traces => self.ask_for_traces(world, known).await,
            Way::Batches => self.ask_for_batches(world).await,
            Way::OrderBatch => self.order_batch(world).await,
            Way::Guests | Way::Sessions | Way::OptOuts | Way::Usage | Way::Effects => {
                self.ask_for_people(way, world, known).await
            }
            Way::ChangeGuests => self.change_guests(world).await,
            Way::Send => self.send_over_their_instance(world).await,
            Way::ChangeEntry => self.change_entries(world).await,
            Way::ChangeTokens => self.change_tokens(world).await,
        }
    }

    async fn ask_for_entries<S, Q>(&self, way: Way, world: &FunctionWorld<S, Q>) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let (caller, other) = (&self.caller, &self.other);
        if way == Way::Entries {
            let theirs = Some(&other.tenant.id);
            return [
                shown(recado_configuration::read_configuration(world, caller).await),
                shown(
                    recado_configuration::list_visible_entries::<Tenant>(world, caller, None, &page()).await,
                ),
                shown(
                    recado_configuration::list_visible_entries::<Agent>(world, caller, None, &page()).await,
                ),
                shown(
                    recado_configuration::list_visible_entries::<Agent>(world, caller, theirs, &page()).await,
                ),
                shown(
                    recado_configuration::list_visible_entries::<Instance>(world, caller, None, &page())
                        .await,
                ),
                shown(
                    recado_configuration::list_visible_entries::<Instance>(world, caller, theirs, &page())
                        .await,
                ),
            ]
            .concat();
        }
        [
            shown(recado_configuration::find_entry::<Tenant>(world, caller, other.tenant.id.as_str()).await),
            shown(recado_configuration::find_entry::<Agent>(world, caller, other.agent.id.as_str()).await),
            shown(
                recado_configuration::find_entry::<Instance>(world, caller, other.instance.id.as_str()).await,
            ),
        ]
        .concat()
    }

    /// Asks for contacts of the other tenant, as if they were contacts of the own one.
    async fn ask_for_contacts<S, Q>(&self, way: Way, world: &FunctionWorld<S, Q>) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let mut answers = String::new();
        for contact in self.contacts() {
            for instance in [None, Some(self.other.instance.id.clone())] {
                let query = ContactQuery {
                    tenant: match &self.caller.scope {
                        Scope::Tenant(_) => self.own.clone(),
                        Scope::Installation => self.other.tenant.id.clone(),
                    },
                    instance,
                    contact: contact.clone(),
                };
                answers += &match way {
                    Way::FindContact => {
                        shown(recado_contacts::find_contact(world, &self.caller, &query).await)
                    }
                    Way::ExportContact => {
                        shown(recado_contacts::export_contact(world, &self.caller, &query, None).await)
                    }
                    _ => {
                        let erased = recado_contacts::erase_contact(world, &self.caller, &query).await;
                        let took = erased.is_ok_and(|report| report != EraseReport::default());
                        told("an erasure", if took { Ok(()) } else { Err(()) })
                    }
                };
            }
        }
        answers
    }

    async fn ask_for_lists<S, Q>(&self, way: Way, world: &FunctionWorld<S, Q>) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let (caller, theirs) = (&self.caller, &self.other);
        match way {
            Way::Conversations => {
                let of_theirs = ConversationFilter {
                    instance: Some(theirs.instance.id.clone()),
                    ..ConversationFilter::default()
                };
                let all = ConversationFilter::default();
                let waiting =
                    recado_operators::list_waiting_conversations(world, caller, all.clone(), &page()).await;
                [
                    shown(recado_operators::list_conversations(world, caller, all, &page()).await),
                    shown(recado_operators::list_conversations(world, caller, of_theirs, &page()).await),
                    shown(waiting),
                ]
                .concat()
            }
            Way::DeadLetters => {
                let all = DeadLetterFilter::default();
                shown(recado_dead_letters::list_dead_letters(world, caller, all, &page()).await)
            }
            Way::Tokens => {
                let of_theirs = tokens::list_tokens(world, caller, Some(&theirs.tenant.id), &page()).await;
                shown(tokens::list_tokens(world, caller, None, &page()).await) + &shown(of_theirs)
            }
            Way::Events => self.ask_for_events(world).await,
            _ => {
                let of_theirs = AuditFilter {
                    tenant: Some(theirs.tenant.id.clone()),
                    ..AuditFilter::default()
                };
                let all = AuditFilter::default();
                shown(recado_audit::list_audit(world, caller, all, &page()).await)
                    + &shown(recado_audit::list_audit(world, caller, of_theirs, &page()).await)
            }
        }
    }

    /// Asks about one conversation of the other tenant.
    async fn ask_about<S, Q>(&self, way: Way, world: &FunctionWorld<S, Q>, id: &ConversationId) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let caller = &self.caller;
        if way == Way::Conversation {
            let first = TraceTarget::Message(id.message_id(Ordinal(1)));
            return [
                shown(recado_operators::find_conversation(world, caller, id).await),
                shown(recado_operators::list_messages(world, caller, id, &page()).await),
                shown(find_trace(world, caller, &first).await),
            ]
            .concat();
        }
        let correlation = random_id::generate_correlation_id(&world.system);
        let answer = OperatorAnswer {
            content: Content::from_text("from a stranger"),
            options: SendOptions::default(),
            seen: None,
            key: None,
            correlation: correlation.clone(),
        };
        let manual = ConversationMode::Manual;
        [
            told(
                "a takeover",
                recado_operators::set_conversation_mode(world, caller, id, manual, &correlation).await,
            ),
            told(
                "an end",
                recado_operators::resolve_conversation(world, caller, id, None, &correlation).await,
            ),
            told(
                "an answer",
                recado_operators::answer_as_operator(world, caller, id, answer).await,
            ),
        ]
        .concat()
    }

    async fn change_entries<S, Q>(&self, world: &FunctionWorld<S, Q>) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let (caller, theirs, any) = (&self.caller, &self.other, EntryMatch::Any);
        let asks = recado_configuration::AskedParties::Nobody;
        let instance = theirs.instance.clone();
        let removal = RemovalOptions {
            force: true,
            dry_run: false,
        };
        let agent = theirs.agent.id.as_str();
        let overlap = SignedDuration::ZERO;
        [
            told(
                "a changed instance",
                recado_configuration::change_entry(world, caller, instance, &any, asks).await,
            ),
            told(
                "a removed agent",
                recado_configuration::remove_entry::<Agent>(world, caller, agent, &any, true).await,
            ),
            told(
                "a rotated secret",
                recado_configuration::rotate_secret(world, caller, &theirs.instance.id, overlap).await,
            ),
            told(
                "a removed tenant",
                remove_tenant(world, caller, &theirs.tenant.id, removal).await,
            ),
        ]
        .concat()
    }

    async fn change_tokens<S, Q>(&self, world: &FunctionWorld<S, Q>) -> String
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let new = NewToken {
            name: self.caller.name.clone(),
            tenant: Some(self.other.tenant.id.clone()),
            role: TokenRole::Viewer,
            expires_at: None,
        };
        let theirs = Some(&self.other.tenant.id);
        [
            told("a token", tokens::create_token(world, &self.caller, new).await),
            told(
                "a revoked token",
                tokens::revoke_token(world, &self.caller, theirs, &self.caller.name).await,
            ),
        ]
        .concat()
    }
}

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// Lets a stranger of each tenant ask for each line of another by `ways`. Without `are_limited` their tokens open every
    /// tenant.
    pub fn let_strangers_ask(self: &Arc<Self>, ways: &[Way], are_limited: bool) {
        for bound in &self.bounds {
            self.send_voice_notes(&bound.instance);
            self.add_invited_guest(bound);
        }
        let tenants: BTreeSet<&TenantId> = self.bounds.iter().map(|bound| &bound.tenant.id).collect();
        for own in tenants {
            for other in self.bounds.iter().filter(|bound| bound.tenant.id != *own) {
                let stranger = Stranger::new(own, other, are_limited);
                self.give_token(&other.tenant.id);
                let (sim, ways) = (Arc::clone(self), ways.to_vec());
                self.ledger().pending += 1;
                self.simulation().spawn(Life::default(), async move {
                    for _ in 0..ROUNDS {
                        sim.simulation().sleep(PAUSE_MS).await;
                        for way in &ways {
                            sim.ask_as_stranger(&stranger, *way).await;
                        }
                    }
                    sim.ledger().pending -= 1;
                });
            }
        }
    }

    async fn ask_as_stranger(self: &Arc<Self>, stranger: &Stranger, way: Way) {
        let injector = FaultInjector::new(&self.common, "api");
        let world = self.world(&injector);
        let known = KnownRecords::read(self, stranger);
        let asking = stranger.clone();
        let request = async move { Box::pin(asking.ask(way, &world, &known)).await };
        let answer = self.answered_in(injector, REQUEST_PATIENCE_MS, request).await;
        // Whoever dies on the way answers nothing.
        let answer = answer.unwrap_or_default();
        for mark in stranger.marks().iter().filter(|mark| answer.contains(*mark)) {
            let own = &stranger.own;
            self.common
                .broken(format!("a stranger of {own} was told {mark} by {way:?}"));
        }
    }
}
