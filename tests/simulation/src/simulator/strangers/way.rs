//! The ways in that the API has.

/// A way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The lists of tenants, agents and instances.
    Entries,
    /// One of these by the id that the other tenant has for it.
    Entry,
    /// The contact of the other tenant, to be found.
    FindContact,
    /// The same, to be exported.
    ExportContact,
    /// Conversations, of all and of the other's instance.
    Conversations,
    /// Dead letters.
    DeadLetters,
    /// Tokens.
    Tokens,
    /// The audit.
    Audit,
    /// Published events.
    Events,
    /// A conversation of the other tenant: the record, its messages, its trace.
    Conversation,
    /// Files of the other tenant's messages.
    Files,
    /// Traces and timelines of the other tenant's messages, by every id that leads to them.
    Traces,
    /// Occasions, their guests and invitations.
    Guests,
    /// Batches of invitations, and the log of deliveries.
    Batches,
    /// Sessions of the other tenant's contacts.
    Sessions,
    /// Opt-outs.
    OptOuts,
    /// Use of models, of all and of a conversation of the other tenant.
    Usage,
    /// Effects of tools in a conversation of the other tenant.
    Effects,
    /// A contact of the other tenant, to be erased.
    EraseContact,
    /// An entry of the other tenant, to be changed or removed; the tenant itself, to be removed.
    ChangeEntry,
    /// A conversation of the other tenant, to be answered, taken over or resolved.
    ChangeConversation,
    /// A token for the other tenant, to be created or revoked.
    ChangeTokens,
    /// Messages and a file, to be sent over the other tenant's instance.
    Send,
    /// A guest of the other tenant, to be added or deleted.
    ChangeGuests,
    /// A batch of the other tenant, to be paused, resumed or cancelled.
    OrderBatch,
}

impl Way {
    /// The ways that only read.
    pub const READING: [Self; 18] = [
        Self::Entries,
        Self::Entry,
        Self::FindContact,
        Self::ExportContact,
        Self::Conversations,
        Self::DeadLetters,
        Self::Tokens,
        Self::Audit,
        Self::Events,
        Self::Conversation,
        Self::Files,
        Self::Traces,
        Self::Guests,
        Self::Batches,
        Self::Sessions,
        Self::OptOuts,
        Self::Usage,
        Self::Effects,
    ];

    /// The ways that change something.
    pub const CHANGING: [Self; 7] = [
        Self::EraseContact,
        Self::ChangeEntry,
        Self::ChangeConversation,
        Self::ChangeTokens,
        Self::Send,
        Self::ChangeGuests,
        Self::OrderBatch,
    ];
}
