//! The question what an event means: [`InboundRule`].

use crate::Deps;
use crate::steps::inbound_arrival::{InboundArrival, InstanceEvent};
use crate::steps::person_thread::FoundThread;
use async_trait::async_trait;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::event::MessagePosition;
use recado_domain::message::{Message, Outgoing};
use recado_ports::ports::PortResult;

/// A rule that says what a message means for one feature. The processing of an event asks all of them, in the order of
/// [`crate::Features::inbound_rules`], at each of the places below, in the order of these methods.
///
/// A rule answers only the questions that concern it. It may be asked again about the same message: after a crash, or after another
/// writer was faster.
#[async_trait]
pub trait InboundRule: Send + Sync {
    /// Notes what the message tells of its author or its instance. Its conversation is not known yet.
    async fn note_arrival(&self, _deps: &Deps, _arrival: &InboundArrival<'_>) -> PortResult<()> {
        Ok(())
    }

    /// Returns `true` if the contact's message is not to be stored. `found` is the person's thread.
    async fn refuses_message(
        &self,
        _deps: &Deps,
        _arrival: &InboundArrival<'_>,
        _found: &FoundThread<'_>,
    ) -> PortResult<bool> {
        Ok(false)
    }

    /// Returns `true` if no person wrote this message of the phone, so that it takes over and answers nothing.
    async fn is_automatic(
        &self,
        _deps: &Deps,
        _arrival: &InboundArrival<'_>,
        _conversation: &Conversation,
    ) -> PortResult<bool> {
        Ok(false)
    }

    /// Changes the message and its conversation by what the message says, before both are stored.
    async fn apply_message(
        &self,
        _deps: &Deps,
        _arrival: &InboundArrival<'_>,
        _conversation: &mut Conversation,
        _message: &mut Message,
    ) -> PortResult<()> {
        Ok(())
    }

    /// Returns `true` if something is to be done about a message with this content once it is stored. Its event is finished after
    /// that.
    fn follows_message(&self, _content: &Content) -> bool {
        false
    }

    /// Does what follows from a message that is stored at `place`. Only asked of a rule that follows the message.
    async fn follow_message(
        &self,
        _deps: &Deps,
        _arrival: &InboundArrival<'_>,
        _place: &MessagePosition,
    ) -> PortResult<()> {
        Ok(())
    }

    /// Notes that a message failed after the provider had accepted it.
    async fn note_failure(
        &self,
        _deps: &Deps,
        _event: &InstanceEvent<'_>,
        _failed: &LateFailure<'_>,
    ) -> PortResult<()> {
        Ok(())
    }
}

/// The failure of an attempt to send a message, after the provider had accepted it.
#[derive(Debug, Clone, Copy)]
pub struct LateFailure<'a> {
    /// Message that failed.
    pub message: &'a Outgoing,
    /// The message goes out again, or went out again since.
    pub is_repeated: bool,
}
