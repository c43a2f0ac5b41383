use super::{Act, LINGERS_MS, Redrive, Simulator};
use crate::executor::Life;
use crate::fault_injector::FaultInjector;
use crate::queue::{Dead, WorkQueues};
use recado_domain::access::Caller;
use recado_domain::config::ConfigDocument;
use recado_domain::content::Content;
use recado_domain::conversation::ConversationMode;
use recado_domain::ids::{ConversationId, IdempotencyKey, Ordinal};
use recado_domain::options::SendOptions;

use recado_operators::{OperateError, OperatorAnswer};
use recado_pipeline::ports::Store;
use recado_pipeline::random_id;
use std::fmt::Debug;
use std::sync::Arc;

/// How long a client waits for an answer, in milliseconds.
pub(super) const REQUEST_PATIENCE_MS: i64 = 30_000;

/// What a person is told of how their request ended: whether it was done.
fn told<T>(done: &Result<T, OperateError>) -> Option<bool> {
    match done {
        Err(OperateError::Port(_) | OperateError::Busy) => None,
        done => Some(done.is_ok()),
    }
}

/// A person's request about a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorRequest {
    /// Takes the conversation over.
    TakeOver,
    /// Answers, having seen up to this ordinal.
    Answer(String, Ordinal),
    /// Gives it back.
    GiveBack,
    /// Ends it, having seen up to this ordinal.
    Resolve(Ordinal),
}

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// A person's request, repeated until it is answered.
    pub fn request(self: &Arc<Self>, conversation: &ConversationId, request: OperatorRequest) {
        self.ledger().pending += 1;
        let act = self.begin(conversation, &request);
        let (sim, conversation) = (Arc::clone(self), conversation.clone());
        self.simulation().spawn(Life::default(), async move {
            for asked in 0..20 {
                let told = sim.ask_once(&conversation, &request).await;
                if told.is_some() || !sim.clients_repeat {
                    sim.end(act, told, asked == 0);
                    break;
                }
                sim.simulation().sleep(8_000).await;
            }
            sim.ledger().pending -= 1;
        });
    }

    /// Notes what a person asks for.
    fn begin(&self, conversation: &ConversationId, request: &OperatorRequest) -> usize {
        let act = Act {
            conversation: conversation.clone(),
            request: request.clone(),
            begun_ms: self.simulation().elapsed_ms(),
            over_ms: i64::MAX,
            told: None,
        };
        let mut ledger = self.ledger();
        ledger.acts.push(act);
        ledger.acts.len() - 1
    }

    /// Notes what the person was told; `at_once`: of the first request, so that none lingers.
    fn end(&self, act: usize, told: Option<bool>, at_once: bool) {
        let now = self.simulation().elapsed_ms();
        if let Some(act) = self.ledger().acts.get_mut(act) {
            act.told = told;
            let ends_at_once = at_once && told.is_some();
            act.over_ms = now + if ends_at_once { 0 } else { LINGERS_MS };
        }
    }

    /// An operator redrives a dead letter by the API, again until that is answered.
    pub fn redrive(self: &Arc<Self>, dead_letter: String) {
        self.ledger().pending += 1;
        let noted = self.note_redrive(dead_letter.clone());
        self.ledger().redrives[noted].to_ms = i64::MAX;
        let sim = Arc::clone(self);
        self.simulation().spawn(Life::default(), async move {
            for _ in 0..20 {
                if sim.redrive_once(dead_letter.clone()).await {
                    let over = sim.simulation().elapsed_ms() + LINGERS_MS;
                    sim.ledger().redrives[noted].to_ms = over;
                    break;
                }
                sim.simulation().sleep(8_000).await;
            }
            sim.ledger().pending -= 1;
        });
    }

    /// An operator applies a changed configuration, again until that is answered.
    pub async fn configure(self: &Arc<Self>, change: ConfigDocument) -> bool {
        let instances = change.instances.iter().map(|instance| instance.id.clone());
        self.ledger().configured.extend(instances);
        for _ in 0..20 {
            let injector = FaultInjector::new(&self.common, "api");
            let (world, change) = (self.world(&injector), change.clone());
            let request = async move {
                let options = recado_configuration::ApplyOptions::default();
                recado_configuration::apply_configuration(&world, &Caller::installation(), change, options)
                    .await
                    .is_ok()
            };
            if self.answered_in(injector, REQUEST_PATIENCE_MS, request).await == Some(true) {
                return true;
            }
            self.simulation().sleep(8_000).await;
        }
        false
    }

    /// An operator moves a dead-letter queue's copy back to the end of its queue, in the console.
    pub fn move_back(&self, dead: &Dead) {
        if let Some(copy) = &dead.copy_of {
            self.note_redrive(copy.dead_letter.clone());
        }
        self.queues.move_back(dead);
        self.common.make_dirty(dead.queue);
    }

    /// Returns its place in the ledger.
    fn note_redrive(&self, dead_letter: String) -> usize {
        let now = self.simulation().elapsed_ms();
        let redrive = Redrive {
            dead_letter,
            from_ms: now,
            to_ms: now,
        };
        let mut ledger = self.ledger();
        ledger.redrives.push(redrive);
        ledger.redrives.len() - 1
    }

    /// Whether it was answered, with yes or with no.
    async fn redrive_once(self: &Arc<Self>, dead_letter: String) -> bool {
        let injector = FaultInjector::new(&self.common, "api");
        let world = self.world(&injector);
        let request = async move {
            told(
                &recado_dead_letters::redrive_dead_letter(&world, &Caller::installation(), &dead_letter)
                    .await,
            )
        };
        let told = self.answered_in(injector, REQUEST_PATIENCE_MS, request).await;
        told.flatten().is_some()
    }

    /// What was answered: whether it was done.
    async fn ask_once(
        self: &Arc<Self>,
        conversation: &ConversationId,
        request: &OperatorRequest,
    ) -> Option<bool> {
        let injector = FaultInjector::new(&self.common, "api");
        let (sim, caller) = (Arc::clone(self), injector.clone());
        let (conversation, request) = (conversation.clone(), request.clone());
        let granting = async move { told(&sim.grant(&caller, &conversation, request).await) };
        self.answered_in(injector, REQUEST_PATIENCE_MS, granting)
            .await
            .flatten()
    }

    async fn grant(
        &self,
        injector: &FaultInjector,
        id: &ConversationId,
        request: OperatorRequest,
    ) -> Result<(), OperateError> {
        let world = self.world(injector);
        let correlation = random_id::generate_correlation_id(injector);
        self.common.note(|| format!("a person wants {request:?} of {id}"));
        match request {
            OperatorRequest::TakeOver => recado_operators::set_conversation_mode(
                &world,
                &Caller::installation(),
                id,
                ConversationMode::Manual,
                &correlation,
            )
            .await
            .map(|_| ()),
            OperatorRequest::GiveBack => recado_operators::set_conversation_mode(
                &world,
                &Caller::installation(),
                id,
                ConversationMode::Ai,
                &correlation,
            )
            .await
            .map(|_| ()),
            OperatorRequest::Resolve(seen) => recado_operators::resolve_conversation(
                &world,
                &Caller::installation(),
                id,
                Some(seen),
                &correlation,
            )
            .await
            .map(|_| ()),
            OperatorRequest::Answer(text, seen) => {
                let key = IdempotencyKey::parse(&text).ok();
                let answer = OperatorAnswer {
                    content: Content::from_text(text),
                    options: SendOptions::default(),
                    seen: Some(seen),
                    key,
                    correlation,
                };
                recado_operators::answer_as_operator(&world, &Caller::installation(), id, answer)
                    .await
                    .map(|_| ())
            }
        }
    }
}
