//! Every field of WhatsApp's protobuf `Message`, and what a message of that kind is to people.

use crate::wire::json::{get_text, parse_integer};
use serde_json::Value;

/// The meaning of a kind of message to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum KindClass {
    /// A person said it. Its words and files are read.
    Content,
    /// Holds another message, which counts.
    Wrapper,
    /// A line in the conversation that asks for no answer.
    Notice,
    /// An encrypted change of another message.
    EncryptedChange,
    /// Announces other messages, or programs exchange it. It is ignored and counted.
    Mark,
    /// Stands beside another kind, or is read apart from all kinds.
    Companion,
}

use KindClass::{Companion, Content, EncryptedChange, Mark, Notice, Wrapper};

/// The fields of `Message` with their classes, in the order of their numbers. Kinds that are not here are [`Content`]: a person may
/// have said them.
pub(in super::super) const KINDS: [(&str, KindClass); 113] = [
    ("conversation", Content),
    ("senderKeyDistributionMessage", Companion),
    ("imageMessage", Content),
    ("contactMessage", Content),
    ("locationMessage", Content),
    ("extendedTextMessage", Content),
    ("documentMessage", Content),
    ("audioMessage", Content),
    ("videoMessage", Content),
    ("call", Mark),
    ("chat", Mark),
    ("protocolMessage", Companion),
    ("contactsArrayMessage", Content),
    ("highlyStructuredMessage", Content),
    ("fastRatchetKeySenderKeyDistributionMessage", Companion),
    ("sendPaymentMessage", Content),
    ("liveLocationMessage", Content),
    ("requestPaymentMessage", Content),
    ("declinePaymentRequestMessage", Notice),
    ("cancelPaymentRequestMessage", Notice),
    ("templateMessage", Content),
    ("stickerMessage", Content),
    ("groupInviteMessage", Content),
    ("templateButtonReplyMessage", Content),
    ("productMessage", Content),
    ("deviceSentMessage", Wrapper),
    ("messageContextInfo", Companion),
    ("listMessage", Content),
    ("viewOnceMessage", Wrapper),
    ("orderMessage", Content),
    ("listResponseMessage", Content),
    ("ephemeralMessage", Wrapper),
    ("invoiceMessage", Content),
    ("buttonsMessage", Content),
    ("buttonsResponseMessage", Content),
    ("paymentInviteMessage", Notice),
    ("interactiveMessage", Content),
    ("reactionMessage", Content),
    ("stickerSyncRmrMessage", Mark),
    ("interactiveResponseMessage", Content),
    ("pollCreationMessage", Content),
    ("pollUpdateMessage", Content),
    ("keepInChatMessage", Notice),
    ("documentWithCaptionMessage", Wrapper),
    ("requestPhoneNumberMessage", Mark),
    ("viewOnceMessageV2", Wrapper),
    ("encReactionMessage", Content),
    ("editedMessage", Wrapper),
    ("viewOnceMessageV2Extension", Wrapper),
    ("pollCreationMessageV2", Content),
    ("scheduledCallCreationMessage", Notice),
    ("groupMentionedMessage", Wrapper),
    ("pinInChatMessage", Notice),
    ("pollCreationMessageV3", Content),
    ("scheduledCallEditMessage", Notice),
    ("ptvMessage", Content),
    ("botInvokeMessage", Wrapper),
    // "Messsage" is WhatsApp's own spelling.
    ("callLogMesssage", Notice),
    ("callLogMessage", Notice),
    ("messageHistoryBundle", Mark),
    ("encCommentMessage", Notice),
    ("bcallMessage", Content),
    ("lottieStickerMessage", Wrapper),
    ("eventMessage", Content),
    ("encEventResponseMessage", Notice),
    ("commentMessage", Wrapper),
    ("newsletterAdminInviteMessage", Content),
    ("placeholderMessage", Mark),
    ("secretEncryptedMessage", EncryptedChange),
    ("albumMessage", Mark),
    ("eventCoverImage", Wrapper),
    ("stickerPackMessage", Content),
    ("statusMentionMessage", Wrapper),
    ("pollResultSnapshotMessage", Mark),
    ("pollCreationOptionImageMessage", Wrapper),
    ("associatedChildMessage", Wrapper),
    ("groupStatusMentionMessage", Wrapper),
    ("pollCreationMessageV4", Wrapper),
    ("statusAddYours", Wrapper),
    ("groupStatusMessage", Wrapper),
    ("richResponseMessage", Content),
    ("statusNotificationMessage", Mark),
    ("limitSharingMessage", Wrapper),
    ("botTaskMessage", Wrapper),
    ("questionMessage", Wrapper),
    ("messageHistoryNotice", Mark),
    ("groupStatusMessageV2", Wrapper),
    ("botForwardedMessage", Wrapper),
    ("statusQuestionAnswerMessage", Content),
    ("questionReplyMessage", Wrapper),
    ("questionResponseMessage", Content),
    ("statusQuotedMessage", Content),
    ("statusStickerInteractionMessage", Mark),
    ("pollCreationMessageV5", Content),
    ("newsletterFollowerInviteMessageV2", Content),
    ("pollResultSnapshotMessageV3", Mark),
    ("newsletterAdminProfileMessage", Wrapper),
    ("spoilerMessage", Wrapper),
    ("pollCreationMessageV6", Content),
    ("conditionalRevealMessage", Mark),
    ("pollAddOptionMessage", Notice),
    ("eventInviteMessage", Content),
    ("groupRootKeyShare", Mark),
    ("paymentReminderMessage", Content),
    ("splitPaymentMessage", Content),
    ("newsletterAdminProfileStatusMessage", Wrapper),
    ("rootSecretDistributeMessage", Mark),
    ("splitPaymentUpdateMessage", Notice),
    ("musicMessage", Content),
    ("statusLinkPreviewMetadata", Mark),
    ("botPlatformRegistrationSuccessMessage", Wrapper),
    // Evolution's own fields.
    ("mediaUrl", Companion),
    ("base64", Companion),
];

/// Returns the class of the field `kind` with the value `body`.
pub(in super::super) fn classify_kind(kind: &str, body: &Value) -> KindClass {
    let known = KINDS.iter().find(|(known, _)| *known == kind);
    match known.map(|(_, class)| *class) {
        Some(EncryptedChange) => classify_encrypted_change(body),
        Some(class) => class,
        // A later kind of encrypted change.
        None if body.get("encPayload").is_some() && changed_message_id(body).is_some() => EncryptedChange,
        None => Content,
    }
}

/// Returns the class of an encrypted change by its type, a word or WhatsApp's number.
fn classify_encrypted_change(body: &Value) -> KindClass {
    let Some(written) = body.get("secretEncType") else {
        return EncryptedChange;
    };
    match (written.as_str().map(str::trim), parse_integer(written)) {
        (Some("MESSAGE_SCHEDULE"), _) | (_, Some(3)) => Mark,
        (Some("POLL_ADD_OPTION"), _) | (_, Some(5)) => Notice,
        _ => EncryptedChange,
    }
}

/// Returns the id of the message that an encrypted change is about.
pub(in super::super) fn changed_message_id(body: &Value) -> Option<&str> {
    get_text(body.get("targetMessageKey")?, "id")
}
