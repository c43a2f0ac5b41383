//! Stories of how the provider takes a message.

use super::story::Story;
use super::teller::Teller;
use crate::fake_world::Fate;
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
                Fate::Closed,
                Fate::Closed,
                Fate::Closed,
                Fate::Closed,
                Fate::Closed,
                Fate::Closed,
                Fate::Failed,
            ]),
            Self::Unheard | Self::UnheardAtMeta => tell.sends(&[Fate::AcceptedUnheard]),
            Self::NeverExplained => {
                tell.on_line(|line| line.script_is_steady = true);
                tell.sends(&[Fate::Unexplained]);
            }
            Self::AcceptedThenFailed => {
                tell.on_line(|line| line.remembers = false);
                tell.sends(&[Fate::AcceptedThenFailed]);
            }
            Self::SecondCopy => {
                tell.sends(&[Fate::FailedLater, Fate::Late]);
                tell.redrives_at_once();
            }
            Self::EchoAlone => {
                tell.on_line(|line| line.remembers = false);
                tell.sends(&[Fate::AcceptedUnheard]);
            }
            Self::Lost => tell.sends(&[Fate::LostUnheard]),
            Self::RefusedOnce => tell.sends(&[Fate::Refused]),
            Self::Refused => {
                tell.sends(&[Fate::Refused]);
                tell.redrives();
            }
            Self::FailedLater => {
                tell.sends(&[Fate::FailedLater]);
                tell.redrives();
            }
            _ => unreachable!("{self:?} is set elsewhere"),
        }
    }
}
