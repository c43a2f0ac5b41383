//! Finds everything that a request for an invitation names, and checks it.

use crate::ready::{InvitationWay, ReadyInvitation, put_off_email, write_email};
use crate::{InvitationError, InvitationRequest, NamedGuest};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use recado_domain::access::Caller;
use recado_domain::config::{Instance, InstanceConfig, Tenant};
use recado_domain::conversation::Conversation;
use recado_domain::ids::{GuestId, InstanceId, InvitationId, OccasionId, hash_parts};
use recado_domain::invitations::{
    Guest, Invitation, InvitationChannel, InvitationState, InvitationTemplate, Occasion, SendTime,
    TemplateValues, choose_language, write_invitation_id,
};
use recado_domain::metadata::Metadata;
use recado_domain::millis::add_duration;
use recado_domain::provider::AddressFormat;
use recado_domain::recipient::{RecipientError, parse_recipient};
use recado_occasions::guests::{derive_phone_key, find_or_add_guest, make_guest};
use recado_pipeline::Deps;
use recado_pipeline::deps::capabilities;
use recado_pipeline::steps::identity::derive_thread_id;
use recado_pipeline::steps::invited_tenant::choose_tenant;
use recado_pipeline::steps::linked_threads::find_latest_conversation;
use recado_ports::ports::{PageRequest, PortResult};
use recado_ports::records::configuration::{find_config_by_id, load_configuration};
use recado_ports::records::guests::{find_guest, find_guest_of_phone};
use recado_ports::records::occasions::{self, list_invitation_templates, list_occasions};
use recado_sends::{DeliverError, SCHEDULE_AHEAD_MAX};
use std::sync::Arc;

/// The things that the invitations of an occasion by one template have in common.
#[derive(Debug)]
pub struct InvitationContext {
    pub tenant: Tenant,
    pub occasion: Occasion,
    pub bound: Arc<InstanceConfig>,
    templates: Vec<InvitationTemplate>,
}

impl InvitationContext {
    /// Returns `true` if one of the templates is a text, which a provider with a service window may refuse.
    pub fn sends_texts(&self) -> bool {
        self.templates.iter().any(|template| template.approved.is_none())
    }
}

/// Returns the time zone of a guest: its own, else the occasion's, else the tenant's.
pub fn find_zone(context: &InvitationContext, guest: &Guest) -> TimeZone {
    let others = || {
        context
            .occasion
            .resolve_time_zone(context.tenant.resolve_time_zone())
    };
    guest.find_time_zone().unwrap_or_else(others)
}

/// Returns the time before which the invitation does not leave. `None`: the request names none, or one that is over.
fn find_send_time(
    deps: &Deps,
    request: &InvitationRequest,
    zone: &TimeZone,
) -> Result<Option<Timestamp>, InvitationError> {
    let now = deps.system().now();
    let wanted = request.send_at.and_then(|time| time.resolve(zone));
    check_ahead(wanted, now)?;
    Ok(wanted.filter(|at| *at > now))
}

/// Checks that a time is not too far ahead.
pub fn check_ahead(wanted: Option<Timestamp>, now: Timestamp) -> Result<(), InvitationError> {
    if wanted.is_some_and(|at| at > add_duration(now, SCHEDULE_AHEAD_MAX)) {
        return Err(DeliverError::TooFarAhead.into());
    }
    Ok(())
}

/// Finds what a request names, but for the guest, and checks it.
pub async fn find_context(
    deps: &Deps,
    caller: &Caller,
    request: &InvitationRequest,
) -> Result<InvitationContext, InvitationError> {
    let tenant = choose_tenant(deps, caller, request.tenant.as_ref()).await?;
    if request.channel == InvitationChannel::Email && tenant.email_senders.is_empty() {
        return Err(InvitationError::Channel(request.channel));
    }
    let occasion = find_occasion(deps, &tenant, &request.occasion, &request.guest).await?;
    let bound = find_config_by_id(deps.store(), &occasion.instance).await?;
    let bound = bound.filter(|bound| bound.tenant.id == tenant.id);
    let bound = bound.ok_or(InvitationError::NotFound("instance of the occasion"))?;
    let templates = list_invitation_templates(deps.store(), &tenant.id, Some(&request.template)).await?;
    let of_channel = |one: &InvitationTemplate| one.channel == request.channel;
    let templates: Vec<InvitationTemplate> = templates.into_iter().filter(of_channel).collect();
    if templates.is_empty() {
        return Err(InvitationError::UnknownTemplate(request.template.clone()));
    }
    Ok(InvitationContext {
        tenant,
        occasion,
        bound,
        templates,
    })
}

/// Finds everything that a request names and checks it, and adds a guest whom it names by an unknown number.
pub async fn prepare_invitation(
    deps: &Deps,
    caller: &Caller,
    request: InvitationRequest,
) -> Result<ReadyInvitation, InvitationError> {
    let context = find_context(deps, caller, &request).await?;
    let (guest, is_new) =
        find_named_guest(deps, (&context.tenant, &context.occasion), &request.guest).await?;
    let id = write_invitation_id(deps.system().now(), deps.system().random_u64());
    prepare_for_guest(deps, &context, request, (guest, is_new), id).await
}

/// Writes the template for a guest, adds one that is new, and looks for the guest's session.
pub async fn prepare_for_guest(
    deps: &Deps,
    context: &InvitationContext,
    request: InvitationRequest,
    guest: (Guest, bool),
    id: InvitationId,
) -> Result<ReadyInvitation, InvitationError> {
    let mut ready = write_for_guest(deps, context, request, guest, id).await?;
    let session = match &ready.way {
        InvitationWay::Message { phone, .. } => {
            let leaves_at = ready.send_at.unwrap_or_else(|| deps.system().now());
            let latest = find_contact_conversation(deps, &context.bound, phone).await?;
            let session = latest.and_then(|latest| latest.newest_session());
            session.filter(|session| session.is_open(leaves_at))
        }
        InvitationWay::Email => None,
    };
    ready.invitation.is_free = session.is_some();
    ready.invitation.session = session.map(|session| session.id);
    Ok(ready)
}

/// Writes the template for a guest, and adds one that is new.
pub async fn write_for_guest(
    deps: &Deps,
    context: &InvitationContext,
    request: InvitationRequest,
    (mut guest, is_new): (Guest, bool),
    id: InvitationId,
) -> Result<ReadyInvitation, InvitationError> {
    let (tenant, occasion) = (&context.tenant, &context.occasion);
    let languages = [guest.language.as_deref(), occasion.language.as_deref()];
    let template = choose_language(&context.templates, &languages)
        .ok_or_else(|| InvitationError::UnknownTemplate(request.template.clone()))?;
    let mut values = known_values(tenant, occasion, &guest, &request.variables);
    template.complete_values(&mut values, "occasion_name", occasion.id.as_str());
    let zone = find_zone(context, &guest);
    let send_at = find_send_time(deps, &request, &zone)?;
    let (way, state) = match request.channel {
        InvitationChannel::Whatsapp => {
            let rendered = Box::new(template.render_content(&values)?);
            let phone = guest.phone.clone().ok_or(InvitationError::NoPhone)?;
            (
                InvitationWay::Message {
                    phone,
                    content: rendered,
                },
                InvitationState::Taken { planned: None },
            )
        }
        InvitationChannel::Email => {
            let (person, filled) = ((tenant, &guest), (template, &values));
            let mut outbox = write_email(deps, person, filled, &id, &request.correlation).await?;
            if let Some(at) = send_at {
                put_off_email(deps, &mut outbox, at)?;
            }
            let outbox = Box::new(outbox);
            (InvitationWay::Email, InvitationState::Email { outbox })
        }
    };
    if is_new && let Some(phone) = guest.phone.clone() {
        guest = find_or_add_guest(deps, (tenant, occasion), &phone).await?;
    }
    let invitation = Invitation {
        language: template.language.clone(),
        state,
        ..begin_invitation(deps, context, &request, &guest.id, id)
    };
    Ok(ReadyInvitation {
        bound: context.bound.clone(),
        guest,
        zone,
        way,
        invitation,
        correlation: request.correlation,
        send_at,
        batch: None,
        useful_until: None,
        restored_from: None,
    })
}

/// Makes the record of an invitation that is taken, without its language and session.
pub fn begin_invitation(
    deps: &Deps,
    context: &InvitationContext,
    request: &InvitationRequest,
    guest: &GuestId,
    id: InvitationId,
) -> Invitation {
    let now = deps.system().now();
    Invitation {
        tenant: context.tenant.id.clone(),
        id,
        occasion: context.occasion.id.clone(),
        guest: guest.clone(),
        channel: request.channel,
        template: request.template.clone(),
        language: None,
        state: InvitationState::Taken { planned: None },
        is_free: false,
        session: None,
        not_before: None,
        request_hash: hash_request(request, guest),
        metadata: request.metadata.clone(),
        created_at: now,
        keep_until: add_duration(now, context.tenant.retention.messages.to_duration()),
        rev: 1,
    }
}

/// Returns the occasion. One that nobody configured is made up for a guest who is named by number, where the tenant has one
/// instance that can send.
async fn find_occasion(
    deps: &Deps,
    tenant: &Tenant,
    id: &OccasionId,
    guest: &NamedGuest,
) -> Result<Occasion, InvitationError> {
    if let Some(known) = occasions::find_occasion(deps.store(), &tenant.id, id).await? {
        return Ok(known);
    }
    if matches!(guest, NamedGuest::Id(_) | NamedGuest::IdOfPhone(..)) {
        return Err(InvitationError::NotFound("guest"));
    }
    let instance = find_plain_instance(deps, tenant).await?;
    Ok(Occasion {
        id: id.clone(),
        tenant: tenant.id.clone(),
        name: None,
        instance: instance.ok_or_else(|| InvitationError::UnknownOccasion(id.clone()))?,
        starts_at: None,
        time_zone: None,
        language: None,
        cancelled: false,
        reminders: Vec::new(),
    })
}

/// Returns the instance that sends for an occasion that nobody configured: the only one of the tenant that can send, or else the
/// one that all configured occasions name. `None`: it is not plain.
async fn find_plain_instance(deps: &Deps, tenant: &Tenant) -> PortResult<Option<InstanceId>> {
    let configured = load_configuration(deps.store(), Some(&tenant.id)).await?;
    let enabled: Vec<&Instance> = configured.enabled_instances().collect();
    if let [only] = enabled[..] {
        return Ok(Some(only.id.clone()));
    }
    let page = PageRequest::first(200);
    let known = list_occasions(deps.store(), &tenant.id, &page).await?;
    let Some(first) = known.items.first().map(|occasion| &occasion.instance) else {
        return Ok(None);
    };
    let is_plain = known.next_cursor.is_none()
        && known.items.iter().all(|occasion| occasion.instance == *first)
        && enabled.iter().any(|one| one.id == *first);
    Ok(is_plain.then(|| first.clone()))
}

/// Returns the guest that a request names, and whether it is a new one that is not stored yet.
async fn find_named_guest(
    deps: &Deps,
    (tenant, occasion): (&Tenant, &Occasion),
    named: &NamedGuest,
) -> Result<(Guest, bool), InvitationError> {
    let (id, phone) = match named {
        NamedGuest::Id(id) => (Some(id), None),
        NamedGuest::IdOfPhone(id, phone) => (Some(id), Some(parse_phone(phone)?)),
        NamedGuest::Phone(phone) => (None, Some(parse_phone(phone)?)),
    };
    let key = match &phone {
        Some(phone) => Some(derive_phone_key(deps, &tenant.id, phone).await?),
        None => None,
    };
    if let Some(id) = id {
        let found = find_guest(deps.store(), &tenant.id, &occasion.id, id).await?;
        let guest = found.ok_or(InvitationError::NotFound("guest"))?.record;
        if key.is_some() && key != guest.phone_key {
            return Err(InvitationError::OtherPhone);
        }
        return Ok((guest, false));
    }
    let key = key.ok_or(InvitationError::NotFound("guest"))?;
    if let Some(known) = find_guest_of_phone(deps.store(), &tenant.id, &key, &occasion.id).await? {
        return Ok((known.record, false));
    }
    let guest = make_guest(deps, (tenant, occasion), None, phone).await?;
    Ok((guest, true))
}

/// Returns the digits of a phone number in any notation.
pub fn parse_phone(text: &str) -> Result<String, RecipientError> {
    let address = parse_recipient(AddressFormat::Numbers, text)?;
    let number = address.phone_number().ok_or(RecipientError::Number)?;
    Ok(number.trim_start_matches('+').to_owned())
}

/// Returns the values of variables: those that Recado knows, then those of the request, which go first.
fn known_values(
    tenant: &Tenant,
    occasion: &Occasion,
    guest: &Guest,
    given: &TemplateValues,
) -> TemplateValues {
    let mut values = TemplateValues::new();
    let mut know = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            values.insert(name.to_owned(), value);
        }
    };
    know("guest_name", guest.name.clone());
    know("occasion_name", occasion.name.clone());
    know("business_name", tenant.name.clone());
    let starts_at = occasion.starts_at;
    know("occasion_date", starts_at.map(|at| at.date().to_string()));
    know(
        "occasion_time",
        starts_at.map(|at| at.strftime("%H:%M").to_string()),
    );
    values.extend(given.clone());
    values
}

/// Returns the newest conversation with the person with this number on an instance.
pub async fn find_contact_conversation(
    deps: &Deps,
    bound: &InstanceConfig,
    phone: &str,
) -> Result<Option<Conversation>, InvitationError> {
    let to = parse_recipient(capabilities(deps, bound).address_format, &format!("+{phone}"))?;
    let thread = derive_thread_id(deps, &bound.instance.id, to.as_str()).await?;
    Ok(find_latest_conversation(deps, thread).await?.1)
}

/// Returns a hash that distinguishes the request from every other, for its idempotency key.
fn hash_request(request: &InvitationRequest, guest: &GuestId) -> String {
    let variables = request
        .variables
        .iter()
        .flat_map(|(name, value)| [name.as_str(), value]);
    let metadata = request.metadata.as_ref().map_or("", Metadata::as_str);
    let mut parts = vec![
        request.occasion.as_str(),
        guest.as_str(),
        request.channel.as_str(),
        request.template.as_str(),
        metadata,
    ];
    parts.extend(variables);
    let send_at = request.send_at.map(SendTime::to_text);
    parts.extend(send_at.iter().flat_map(|at| ["send_at", at.as_str()]));
    hash_parts(&parts, 32)
}
