//! Invitations to occasions: occasions, guests, templates, what was sent to whom, and what guests answer.

mod guest;
mod guest_answer;
mod invitation;
mod occasion;
mod template;

pub use guest::{Guest, GuestReply, GuestStatus, InvitedGuest, PhoneKey};
pub use guest_answer::{GuestAnswer, recognize_answer};
pub use invitation::{
    Invitation, InvitationState, InvitationStatus, parse_invitation_time, write_invitation_id,
};
pub use occasion::{Occasion, OccasionError};
pub use template::{
    InvitationChannel, InvitationTemplate, InvitationTemplateError, TemplateValues, choose_language,
};
