//! The parts of a turn: what the model gets, and what it may call. Each is one feature's.

use crate::Deps;
use crate::steps::turn::draft::{DraftedReply, TurnAnswer};
use crate::steps::turn::turn_end::TurnStop;
use crate::steps::turn::{LeasedTurn, StepTimes, TurnState};
use async_trait::async_trait;
use recado_domain::config::InstanceConfig;
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use recado_ports::ports::{LlmError, LlmRequest, ModelCall, PortResult};

/// A feature in a turn. A turn calls the methods in their order here, each of all parts before the next one.
///
/// A part has the methods that it needs. What it keeps between them is a value of a type of its own in [`TurnState`].
#[async_trait]
pub trait TurnPart: Send + Sync {
    /// Notes what the part needs to know of the newest messages, before it is known whether an answer is owed.
    fn note_messages(&self, _deps: &Deps, _newest: &[Message], _state: &mut TurnState) {}

    /// Does what is left to do for the messages of a conversation in which the agent owes nothing.
    async fn follow_nothing_owed(
        &self,
        _deps: &Deps,
        _conversation: &Conversation,
        _newest: &[Message],
    ) -> PortResult<()> {
        Ok(())
    }

    /// Reads what a draft must know, before messages are chosen. What the part changes in the conversation is stored with the lease.
    async fn begin_turn(
        &self,
        _deps: &Deps,
        _bound: &InstanceConfig,
        _conversation: &mut Conversation,
        _state: &mut TurnState,
        _times: &mut StepTimes,
    ) -> Result<(), TurnStop> {
        Ok(())
    }

    /// Does what is left to do for the messages where a turn stopped before it had its lease.
    async fn follow_early_stop(
        &self,
        _deps: &Deps,
        _state: &mut TurnState,
        _stop: &TurnStop,
    ) -> Result<(), TurnStop> {
        Ok(())
    }

    /// Returns the reply of a turn in which nobody is asked for one, if the part says so.
    fn find_reply_at_once(&self, _deps: &Deps, _turn: &LeasedTurn<'_>) -> Option<DraftedReply> {
        None
    }

    /// Finds, under the lease, what the model is to read. The part measures its own steps.
    async fn prepare_draft(
        &self,
        _deps: &Deps,
        _turn: &mut LeasedTurn<'_>,
        _times: &mut StepTimes,
    ) -> Result<(), TurnStop> {
        Ok(())
    }

    /// Answers in the place of the model, if the part does that.
    async fn answer_in_place(
        &self,
        _deps: &Deps,
        _turn: &mut LeasedTurn<'_>,
    ) -> Result<Option<TurnAnswer>, TurnStop> {
        Ok(None)
    }

    /// Prepares what the part adds to the request. The time of the model begins after that.
    async fn prepare_request(&self, _deps: &Deps, _turn: &mut LeasedTurn<'_>) {}

    /// Adds to the request what the model is to know, and may call. Instructions stand in the order of the parts.
    async fn add_to_request(&self, _deps: &Deps, _turn: &mut LeasedTurn<'_>, _request: &mut LlmRequest) {}

    /// Does what comes between the complete request and the model's first answer.
    async fn finish_request(
        &self,
        _deps: &Deps,
        _turn: &mut LeasedTurn<'_>,
        _request: &mut LlmRequest,
    ) -> Result<(), TurnStop> {
        Ok(())
    }

    /// Changes a request that the model refused, so that it is asked again. `earlier`: the number of times that this was done for it.
    /// `Err`: the request stays refused, for this reason.
    async fn mend_request(
        &self,
        _deps: &Deps,
        _turn: &mut LeasedTurn<'_>,
        _request: &mut LlmRequest,
        error: LlmError,
        _earlier: usize,
    ) -> Result<(), LlmError> {
        Err(error)
    }

    /// Answers a call that the model asks for. `None`: it is none of the part's.
    async fn answer_call(
        &self,
        _deps: &Deps,
        _turn: &mut LeasedTurn<'_>,
        _call: &ModelCall,
    ) -> Result<Option<AnsweredCall>, TurnStop> {
        Ok(None)
    }
}

/// The answer to a call of the model.
#[derive(Debug)]
pub struct AnsweredCall {
    /// The result, as the model reads it.
    pub text: String,
    /// An action was not done: the calls behind it were asked for without that in mind, and are not made.
    pub stops_others: bool,
}
