//! Stories of how the provider takes a message.

use super::story::Story;
use super::teller::Teller;
use crate::fake_world::SendBehaviour;
use crate::queue::WorkQueues;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

impl Story {
    /// Sets the stories of modules of their own, and what is told of how the provider takes a message.
    pub(super) fn send_all<S, Q>(self, tell: &Teller<S, Q>)
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        match self {
            Self::Endpoint(story) => tell.endpoints(story),
            Self::Entry(story) => tell.entries(story),
            Self::Disconnections => tell.sends(&[
                SendBehaviour::Closed,
                SendBehaviour::Closed,
                SendBehaviour::Closed,
                SendBehaviour::Closed,
                SendBehaviour::Closed,
                SendBehaviour::Closed,
                SendBehaviour::Failed,
            ]),
            Self::Unheard | Self::UnheardAtMeta => tell.sends(&[SendBehaviour::AcceptedUnheard]),
            Self::NeverExplained => {
                tell.on_line(|line| line.script_is_steady = true);
                tell.sends(&[SendBehaviour::Unexplained]);
            }
            Self::AcceptedThenFailed => {
                tell.on_line(|line| line.remembers = false);
                tell.sends(&[SendBehaviour::AcceptedThenFailed]);
            }
            Self::SecondCopy => {
                tell.sends(&[SendBehaviour::FailedLater, SendBehaviour::Late]);
                tell.redrives_at_once();
            }
            Self::EchoAlone => {
                tell.on_line(|line| line.remembers = false);
                tell.sends(&[SendBehaviour::AcceptedUnheard]);
            }
            Self::Lost => tell.sends(&[SendBehaviour::LostUnheard]),
            Self::RefusedOnce => tell.sends(&[SendBehaviour::Refused]),
            Self::Refused => {
                tell.sends(&[SendBehaviour::Refused]);
                tell.redrives();
            }
            Self::FailedLater => {
                tell.sends(&[SendBehaviour::FailedLater]);
                tell.redrives();
            }
            _ => unreachable!("{self:?} is set elsewhere"),
        }
    }
}
