//! The answers to contacts' messages as operators read them, with the reason where there is none.

use recado_domain::answer::{
    AnswerReason, AnswerSituation, ExplainedAnswer, Obstacle, explain_answer, explain_owed_answer,
};
use recado_domain::config::InstanceConfig;
use recado_domain::conversation::Conversation;
use recado_domain::ids::InstanceId;
use recado_domain::instance::InstanceState;
use recado_domain::message::{Message, Role};
use recado_pipeline::Deps;
use recado_pipeline::steps::message_view::MessageView;
use recado_pipeline::steps::unreadable::pass_over_unreadable;
use recado_pipeline::steps::wake_up::resolve_debounce;
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::find_config_by_id;
use recado_ports::records::effects::find_journal;
use recado_ports::records::turn_places::find_turn_places;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of messages after a page that are read at once. They are searched for answers to the page's messages.
const LATER_MAX: usize = 100;

/// Number of such reads. More than one is made only for messages whose answer was not found before.
const LATER_READS_MAX: usize = 10;

/// The configuration and the state of instances, each read once.
#[derive(Debug, Default)]
pub struct InstanceFacts(BTreeMap<InstanceId, (Option<Arc<InstanceConfig>>, InstanceState)>);

impl InstanceFacts {
    /// Returns the circumstances of a conversation. The instance is read only if `is_needed`, which it is where the agent owes
    /// an answer.
    async fn read_situation(
        &mut self,
        deps: &Deps,
        conversation: &Conversation,
        is_needed: bool,
    ) -> PortResult<AnswerSituation<'_>> {
        let id = &conversation.instance;
        if is_needed && !self.0.contains_key(id) {
            let bound = pass_over_unreadable(find_config_by_id(deps.store(), id).await)?;
            let state = deps.store().read_instance_state(id).await?;
            self.0.insert(id.clone(), (bound, state));
        }
        let facts = self.0.get(id);
        let bound = facts.and_then(|(bound, _)| bound.as_deref());
        Ok(AnswerSituation {
            now: deps.system().now(),
            bound,
            lacks_model_key: facts.is_some_and(|(_, state)| state.llm_needs_credentials),
            debounce: bound.map(|bound| resolve_debounce(deps, bound)),
            debounce_max: deps.settings().debounce_max,
            turn_obstacle: None,
            send_obstacle: facts.and_then(|(bound, state)| Obstacle::find_of_sends(bound.as_deref(), state)),
        })
    }
}

/// Finds what holds up a turn whose debounce is over: an effect, or the tenant's other turns. Most turns wait for neither, and
/// nothing is read for them.
async fn find_turn_obstacle(
    deps: &Deps,
    conversation: &Conversation,
    situation: &AnswerSituation<'_>,
) -> PortResult<Option<Obstacle>> {
    if conversation.features.has_journal {
        let (tenant, thread) = (&conversation.tenant, conversation.id.thread_id());
        let journal = find_journal(deps.store(), tenant, thread).await?;
        let effect = journal.and_then(|journal| Obstacle::find_effect(&journal.record, situation.now));
        if effect.is_some() {
            return Ok(effect);
        }
    }
    let tenant = situation.bound.map(|bound| &bound.tenant);
    let Some(tenant) = tenant.filter(|tenant| tenant.turns_at_once.is_some()) else {
        return Ok(None);
    };
    let places = find_turn_places(deps.store(), &tenant.id).await?;
    Ok(Obstacle::find_place(
        &places.record,
        &conversation.id,
        situation.now,
    ))
}

/// Explains the answer that each conversation owes; `None` if it owes none. Messages are read only where the debounce runs.
pub async fn explain_owed_answers(
    deps: &Deps,
    conversations: &[Conversation],
) -> PortResult<Vec<Option<ExplainedAnswer>>> {
    let mut facts = InstanceFacts::default();
    let mut answers = Vec::with_capacity(conversations.len());
    for conversation in conversations {
        let is_owing = conversation.agent_owes_answer();
        let mut situation = facts.read_situation(deps, conversation, is_owing).await?;
        let mut owed = explain_owed_answer(conversation, &situation);
        if let Some(debounced) = owed.take_if(|owed| owed.reason == AnswerReason::Debounce) {
            let found = deps
                .store()
                .list_messages_after(&conversation.id, conversation.answered, LATER_MAX)
                .await?;
            let mut told = debounced.with_debounce_end(conversation, found.iter(), &situation);
            if told.is_due() {
                situation.turn_obstacle = find_turn_obstacle(deps, conversation, &situation).await?;
                told = told.with_debounce_end(conversation, found.iter(), &situation);
            }
            owed = Some(told);
        }
        answers.push(owed);
    }
    Ok(answers)
}

/// Adds the answers to the contact's messages of a page, which is ordered by ordinal, in either direction.
pub async fn add_answers(
    deps: &Deps,
    conversation: &Conversation,
    views: &mut [MessageView],
) -> PortResult<()> {
    if views.iter().all(|view| view.message.role != Role::User) {
        return Ok(());
    }
    let mut facts = InstanceFacts::default();
    let owes = conversation.agent_owes_answer();
    let mut situation = facts.read_situation(deps, conversation, owes).await?;
    let mut known: Vec<Message> = views.iter().map(|view| view.message.clone()).collect();
    known.sort_by_key(|message| message.ordinal);
    for _ in 0..LATER_READS_MAX {
        let newest = known.last().map(|message| message.ordinal);
        let Some(newest) = newest.filter(|newest| *newest < conversation.last) else {
            break;
        };
        let later = deps
            .store()
            .list_messages_after(&conversation.id, newest, LATER_MAX)
            .await?;
        let is_end = later.len() < LATER_MAX;
        known.extend(later);
        let mut asked = views.iter().filter(|view| view.message.role == Role::User);
        let lacks_reply = asked.any(|view| {
            let answer = explain_answer(&view.message, conversation, &known, &situation);
            answer.lacks_reply()
        });
        if is_end || !lacks_reply {
            break;
        }
    }
    let asked = || views.iter().filter(|view| view.message.role == Role::User);
    let told: Vec<_> = asked()
        .map(|view| explain_answer(&view.message, conversation, &known, &situation))
        .collect();
    if !owes && told.iter().any(ExplainedAnswer::is_being_sent) {
        situation = facts.read_situation(deps, conversation, true).await?;
    }
    if told.iter().any(ExplainedAnswer::is_due) {
        situation.turn_obstacle = find_turn_obstacle(deps, conversation, &situation).await?;
    }
    for view in views.iter_mut().filter(|view| view.message.role == Role::User) {
        view.answer = Some(explain_answer(&view.message, conversation, &known, &situation));
    }
    Ok(())
}
