//! Invitations to occasions: occasions, guests, templates, what was sent to whom, and what guests answer.

mod batch;
mod batch_id;
mod guest;
mod guest_answer;
mod guest_list;
mod guest_status;
mod invitation;
mod month;
mod occasion;
mod occasion_reminder;
mod reminder_plan;
mod send_time;
mod template;

pub use batch::{
    BATCH_CHUNK, BATCH_PERMIT, BATCH_RECIPIENTS_MAX, Batch, BatchChunk, BatchCounts, BatchEnd, BatchOrder,
    BatchOrderRefused, BatchRecipient, BatchReminder, BatchState, RecipientStatus, make_chunk,
    split_recipients,
};
pub use batch_id::write_batch_id;
pub use guest::{Guest, GuestReply, InvitedGuest, PhoneKey};
pub use guest_answer::{GuestAnswer, recognize_answer, recognize_appointment_answer};
pub use guest_list::{GUEST_ROWS_MAX, GuestListError, GuestRow, ListedGuest, parse_guest_list};
pub use guest_status::GuestStatus;
pub use invitation::{
    Invitation, InvitationState, InvitationStatus, PlannedMessage, ScheduledInvitation,
    parse_invitation_time, write_invitation_id,
};
pub use month::{LogMonth, LogMonthError};
pub use occasion::{Occasion, OccasionError};
pub use occasion_reminder::{OccasionReminder, OccasionReminderError};
pub use reminder_plan::PlannedReminder;
pub use send_time::{SendTime, SendTimeError};
pub use template::{
    InvitationChannel, InvitationTemplate, InvitationTemplateError, TemplateValues, choose_language,
};
