//! The times and limits of the stories that have their own.

use super::story::Story;
use jiff::SignedDuration;

impl Story {
    /// How long an outcome is waited for, where that is not the default: stories of many attempts are long.
    pub fn unknown_wait(self) -> Option<SignedDuration> {
        matches!(
            self,
            Self::NeverExplained
                | Self::AcceptedThenFailed
                | Self::EchoAlone
                | Self::ResolvedWithOpen
                | Self::TwoConversations
                | Self::OrderOfTwo
                | Self::InvitedAgain
        )
        .then_some(SignedDuration::from_secs(60))
    }

    /// How long messages wait for their instance, where that is not the default.
    pub fn parked_max(self) -> Option<SignedDuration> {
        (self == Self::LongOutage).then_some(SignedDuration::from_secs(1_800))
    }

    /// How many messages a turn reads.
    pub fn turn_messages(self) -> usize {
        match self {
            Self::LongBurst => 2,
            Self::WritesOn | Self::BlockedDownloads => 40,
            _ => 20,
        }
    }

    /// Number of drafts in a row that are dropped.
    pub fn restart_drafts(self) -> u32 {
        if self == Self::WritesOn { 2 } else { 0 }
    }
}
