use recado_domain::email::{AddressError, EmailProblem};
use recado_domain::ids::{InvitationTemplateName, OccasionId};
use recado_domain::invitations::{
    BATCH_RECIPIENTS_MAX, BatchOrderRefused, InvitationChannel, InvitationTemplateError,
};
use recado_domain::recipient::RecipientError;
use recado_pipeline::steps::invited_tenant::TenantChoiceError;
use recado_ports::ports::PortError;
use recado_sends::DeliverError;

/// The reason why an invitation was not taken, or a record of invitations not found.
#[derive(Debug, thiserror::Error)]
pub enum InvitationError {
    /// The request has no tenant.
    #[error(transparent)]
    Tenant(#[from] TenantChoiceError),
    /// The named record does not exist.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// Nobody configured the occasion, and it is not plain which instance would send.
    #[error(
        "occasion `{0}` is not configured, and it is not plain which of the tenant's instances would send for it"
    )]
    UnknownOccasion(OccasionId),
    /// The tenant has no such template for the channel.
    #[error("there is no template `{0}` for this channel")]
    UnknownTemplate(InvitationTemplateName),
    /// The template cannot be sent with the values that are known.
    #[error(transparent)]
    Template(#[from] InvitationTemplateError),
    /// Nothing sends by the channel.
    #[error("nothing is configured that sends by {}", .0.as_str())]
    Channel(InvitationChannel),
    /// The guest has no phone number.
    #[error("the guest has no phone number")]
    NoPhone,
    /// The request names a guest by id with a phone number that is another one's.
    #[error(
        "the guest with this guestId has another phone number: give one of the two, or the number of the guest"
    )]
    OtherPhone,
    /// The service window is closed, and the template is a text.
    #[error(
        "the guest has not written in the last 24 hours, so only a template that the provider approved may be sent: give the \
         template `approved` in place of `text`, or the instance a re-engagement template"
    )]
    WindowClosed,
    /// The guest has no e-mail address.
    #[error("the guest has no e-mail address")]
    NoEmail,
    /// The e-mail address is not one that every carrier takes.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The e-mail cannot be sent.
    #[error(transparent)]
    Email(#[from] EmailProblem),
    /// The phone number is not one.
    #[error(transparent)]
    Phone(#[from] RecipientError),
    /// The guest opted out, by whatever channel.
    #[error("the guest wants no more messages that nobody asked for")]
    OptedOut,
    /// The rules for deliveries put a reminder off until the occasion has begun.
    #[error("the reminder could leave only after the occasion has begun")]
    TooLate,
    /// The time is no instant, and a batch has no guest whose clock would tell.
    #[error("give `send_at` of a batch with its offset, such as 2027-03-05T09:00:00-03:00")]
    BatchTime,
    /// The batch has no recipient, or too many.
    #[error("a batch has 1 to {BATCH_RECIPIENTS_MAX} guests")]
    BatchSize,
    /// The cursor is not one of this list.
    #[error("the cursor is not one of this list")]
    Cursor,
    /// The batch cannot follow the order.
    #[error(transparent)]
    Order(#[from] BatchOrderRefused),
    /// The message was not accepted.
    #[error(transparent)]
    Deliver(#[from] DeliverError),
    /// A store or queue failed.
    #[error(transparent)]
    Port(#[from] PortError),
}
