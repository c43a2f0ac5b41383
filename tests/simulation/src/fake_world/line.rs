//! One instance at its provider: how it is, and what happened there.

use super::files::FailedDownloads;
use super::{Kept, SendBehaviour, SendBehaviours};
use jiff::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::MessageId;
use recado_domain::inbound::WebhookEvent;
use recado_domain::provider::Provider;
use std::collections::{BTreeMap, VecDeque};

/// How a fetch of a file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileBehaviour {
    /// The provider does not give the file now.
    Fails,
    /// The file comes when no turn waits for it any more.
    Late,
}

/// One instance at its provider.
#[derive(Debug)]
pub struct Line {
    /// Which provider.
    pub provider: Provider,
    /// Whether it is connected to WhatsApp.
    pub connected: bool,
    /// Whether our key is good.
    pub key_is_good: bool,
    /// Whether its provider can be reached.
    pub reachable: bool,
    /// How sends end.
    pub behaviours: SendBehaviours,
    /// How the next sends end, before chance decides.
    pub script: VecDeque<SendBehaviour>,
    /// Whether what the script says of a message holds for all its attempts.
    pub script_is_steady: bool,
    /// How the next fetches of files end; afterwards, files are given.
    pub files: VecDeque<FileBehaviour>,
    /// The downloads that failed.
    pub(super) downloads: FailedDownloads,
    /// Whether it keeps the messages that it took, and can be asked for them.
    pub remembers: bool,
    /// How every further attempt at a message ends.
    pub(super) steady: BTreeMap<MessageId, SendBehaviour>,
    /// When requests left for it, in milliseconds since the start.
    pub requests: Vec<i64>,
    /// What a stale connection event said last, for a mutation.
    pub last_event_says_open: bool,
    /// How far the provider's clock is ahead of the true time, in milliseconds.
    pub clock_ms: i64,
    /// When it could send from then on, or not, in milliseconds since the start.
    pub(super) turns: Vec<(i64, bool)>,
    pub(super) wrote: BTreeMap<ContactAddress, Vec<Timestamp>>,
    pub(super) refused: Vec<MessageId>,
    pub(super) kept: Vec<Kept>,
    pub(super) received: Vec<(Timestamp, WebhookEvent)>,
}

impl Line {
    pub(super) fn can_send(&self) -> bool {
        self.connected && self.key_is_good && self.reachable
    }

    /// It may be another since `before`.
    pub(super) fn note_turn(&mut self, before: bool, at_ms: i64) {
        let now = self.can_send();
        if now != before {
            self.turns.push((at_ms, now));
        }
    }

    /// Whether it could send all the time, in milliseconds since the start.
    pub fn could_send(&self, from_ms: i64, to_ms: i64) -> bool {
        let before = self.turns.iter().rev().find(|(at, _)| *at <= from_ms);
        let mut since = self.turns.iter().filter(|(at, _)| (from_ms..=to_ms).contains(at));
        before.is_none_or(|(_, can)| *can) && since.all(|(_, can)| *can)
    }
}
