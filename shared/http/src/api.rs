//! The routes that operators, monitors and the command line call.
//!
//! A route stands in one of two lists. `list_public_routes` needs no token: `GET /health/whatsapp` returns the status
//! alone without one. `list_operator_routes` needs a token, as `Authorization: Bearer`; [`permissions`] says which
//! permission its role must include. The description of the API (`GET /openapi.json`) is made of the same two lists by the
//! tests, and kept as `docs/openapi.json`.

mod agents;
mod alerts;
mod annotations;
mod answer_view;
mod appointments;
mod audit;
mod auth;
mod batches;
mod calendars;
mod catch_up;
mod checks;
mod config;
mod contacts;
mod conversations;
mod dead_letters;
#[cfg(test)]
mod describe;
mod description;
mod effects;
mod entries;
mod error_mapping;
mod events;
mod health;
mod instances;
mod invitation_export;
mod invitation_log;
mod invitations;
mod knowledge;
mod knowledge_pages;
mod knowledge_search;
mod media;
mod messages;
mod metrics;
mod notices;
mod occasions;
mod onboarding;
mod opt_outs;
mod outgoing_fields;
mod own_token;
pub(crate) mod permissions;
mod pieced_json;
mod problem_answers;
mod schema;
mod sends;
mod simulator;
mod tenant_query;
mod tenant_removal;
mod tenants;
mod tokens;
mod tools;
mod trace;
mod trends;
mod unacknowledged;
mod unsubscribe;
mod usage;
mod view;
mod webhook_endpoints;
mod whatsapp;

pub use metrics::{GaugeReading, MetricsPage};
pub use onboarding::{
    ConnectRequest, PhonePairing, ProviderSetup, SetupAction, SetupAnswer, SetupCheck, SetupError,
    SetupRequest,
};

use crate::keys::Keys;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::MethodRouter;
use recado_pipeline::Deps;
use recado_pipeline::ports::QueueDepths;
use recado_whatsapp::SimulatedOutbox;
use std::sync::Arc;
use utoipa_axum::{PathItemExt, paste};

/// The largest body that the API accepts, in bytes. A whole configuration with its prompts fits.
const BODY_MAX: usize = 1024 * 1024;

/// The settings and sources that the API needs besides the ports.
#[derive(Debug, Clone)]
pub struct ApiOptions<D> {
    /// The base URL at which providers reach this installation, without a slash at its end. `None`: the base URL of the
    /// request itself is used.
    pub public_url: Option<String>,
    /// The messages that the simulated provider accepted. `None` where a real provider sends.
    pub simulator: Option<SimulatedOutbox>,
    /// The source of the queues' depths.
    pub depths: D,
    /// The function that writes the metrics. `None` where they are elsewhere.
    pub metrics: Option<MetricsPage>,
    /// The check that the store accepts writes.
    pub health_probe: crate::HealthProbe,
    /// `true` if this process has the model's key, so that it can ask the model.
    pub asks_models: bool,
    /// The part that sets instances up at their providers. `None`: this process does not.
    pub provider_setup: Option<ProviderSetup>,
    /// The feed of published events for streams. `None`: there are no streams.
    pub event_feed: Option<crate::EventFeed>,
    /// The way to tickets of push connections. `None`: there is no WebSocket API.
    pub push_desk: Option<crate::PushDesk>,
    /// The way to the endpoints of tenants, for tests of one. `None`: this process posts to none.
    pub endpoint_desk: Option<crate::EndpointDesk>,
}

/// The ports, the keys and the queue depths that an installation's API works with.
pub(crate) trait ApiContext: 'static {
    type Deps: Deps + 'static;
    type Keys: Keys;
    type Depths: QueueDepths;
}

impl<Ports: Deps + 'static, K: Keys, D: QueueDepths> ApiContext for (Ports, K, D) {
    type Deps = Ports;
    type Keys = K;
    type Depths = D;
}

/// The state that every handler gets.
pub(crate) struct Api<C: ApiContext> {
    deps: Arc<C::Deps>,
    keys: Arc<C::Keys>,
    options: Arc<ApiOptions<C::Depths>>,
    /// The status that a request without a token got last.
    last_status: Arc<whatsapp::PublicStatusCache>,
    /// The number of refused tokens.
    refused_tokens: Arc<auth::RefusedTokens>,
    /// What the metrics were last made of.
    last_reading: Arc<metrics::ReadingCache>,
}

impl<C: ApiContext> Clone for Api<C> {
    fn clone(&self) -> Self {
        Self {
            deps: Arc::clone(&self.deps),
            keys: Arc::clone(&self.keys),
            options: Arc::clone(&self.options),
            last_status: Arc::clone(&self.last_status),
            refused_tokens: Arc::clone(&self.refused_tokens),
            last_reading: Arc::clone(&self.last_reading),
        }
    }
}

/// Lists the routes that need no token. `$routes` makes what is wanted of handlers that share a path.
macro_rules! list_public_routes {
    ($routes:ident) => {
        [
            $routes!(health::get_health),
            $routes!(whatsapp::get_whatsapp_health),
            $routes!(unsubscribe::get_unsubscribe_page, unsubscribe::post_unsubscribe),
            $routes!(description::get_openapi),
            $routes!(description::get_docs_page),
            $routes!(description::get_docs_script),
        ]
    };
}

/// Lists the routes that need a token. Each has a line in [`permissions::PERMISSIONS`]. `$routes` makes what is wanted of handlers that share a path.
macro_rules! list_operator_routes {
    ($routes:ident) => {
        vec![
            $routes!(whatsapp::detailed::get_detailed_whatsapp_health),
            $routes!(dead_letters::get_dlq_health),
            $routes!(metrics::get_metrics),
            $routes!(trends::get_trends),
            $routes!(usage::get_usage),
            $routes!(
                config::get_configuration,
                config::put_configuration,
                config::post_configuration
            ),
            $routes!(config::list_webhooks),
            $routes!(config::post_secret_rotation),
            $routes!(tenants::list_tenants, tenants::post_tenant),
            $routes!(
                tenants::get_tenant,
                tenants::put_tenant,
                tenant_removal::delete_tenant
            ),
            $routes!(calendars::list_calendars, calendars::post_calendar),
            $routes!(
                calendars::get_calendar,
                calendars::put_calendar,
                calendars::delete_calendar
            ),
            $routes!(appointments::get_appointments),
            $routes!(tools::list_tools, tools::post_tool),
            $routes!(tools::get_tool, tools::put_tool, tools::delete_tool),
            $routes!(agents::list_agents, agents::post_agent),
            $routes!(agents::get_agent, agents::put_agent, agents::delete_agent),
            $routes!(knowledge::list_knowledge, knowledge::post_knowledge),
            $routes!(knowledge_pages::post_knowledge_pages),
            $routes!(knowledge_search::post_knowledge_search),
            $routes!(knowledge::post_knowledge_vectors),
            $routes!(
                knowledge::get_knowledge_source,
                knowledge::delete_knowledge_source
            ),
            $routes!(instances::list_instances, instances::post_instance),
            $routes!(
                instances::get_instance,
                instances::put_instance,
                instances::delete_instance
            ),
            $routes!(instances::get_instance_webhook),
            $routes!(onboarding::post_connect),
            $routes!(onboarding::post_pairing),
            $routes!(onboarding::post_check),
            $routes!(checks::get_checks),
            $routes!(conversations::list_conversations),
            $routes!(conversations::get_conversation, conversations::patch_conversation),
            $routes!(messages::list_messages, messages::post_answer),
            $routes!(annotations::post_labels),
            $routes!(annotations::list_notes, annotations::post_note),
            $routes!(annotations::delete_note),
            $routes!(effects::list_effects),
            $routes!(effects::post_effect),
            $routes!(unacknowledged::list_unacknowledged),
            $routes!(messages::get_message, sends::delete_message),
            $routes!(sends::post_send),
            $routes!(media::post_media),
            $routes!(media::get_media),
            $routes!(invitations::post_invitation),
            $routes!(invitations::post_guest_invitation),
            $routes!(invitation_log::get_invitation_status),
            $routes!(invitation_log::get_session),
            $routes!(invitation_log::list_invitations),
            $routes!(batches::list_batches),
            $routes!(batches::get_batch),
            $routes!(batches::list_batch_recipients),
            $routes!(batches::pause_batch),
            $routes!(batches::resume_batch),
            $routes!(batches::cancel_batch),
            $routes!(occasions::list_occasions),
            $routes!(occasions::get_occasion),
            $routes!(occasions::get_guest),
            $routes!(invitation_export::export_invitations),
            $routes!(occasions::list_guests, occasions::post_guests),
            $routes!(occasions::delete_guest),
            $routes!(contacts::post_find),
            $routes!(contacts::post_export),
            $routes!(contacts::post_erase),
            $routes!(opt_outs::get_opt_outs),
            $routes!(notices::list_notices),
            $routes!(catch_up::post_catch_up),
            $routes!(
                dead_letters::list_dead_letters,
                dead_letters::mutations::delete_dead_letters
            ),
            $routes!(dead_letters::mutations::redrive_dead_letters),
            $routes!(
                dead_letters::get_dead_letter,
                dead_letters::mutations::delete_dead_letter
            ),
            $routes!(dead_letters::mutations::redrive_dead_letter),
            $routes!(alerts::list_alerts),
            $routes!(alerts::list_notifications),
            $routes!(alerts::redrive_notification),
            $routes!(alerts::post_test),
            $routes!(own_token::get_own_token),
            $routes!(tokens::list_tokens, tokens::post_token),
            $routes!(tokens::delete_token),
            $routes!(audit::get_audit),
            $routes!(events::get_events),
            $routes!(events::get_event_stream),
            $routes!(events::post_push_ticket),
            $routes!(
                webhook_endpoints::list_webhook_endpoints,
                webhook_endpoints::post_webhook_endpoint
            ),
            $routes!(
                webhook_endpoints::get_webhook_endpoint,
                webhook_endpoints::put_webhook_endpoint,
                webhook_endpoints::delete_webhook_endpoint
            ),
            $routes!(webhook_endpoints::post_signing_rotation),
            $routes!(webhook_endpoints::post_endpoint_test),
            $routes!(webhook_endpoints::list_failed_events),
            $routes!(webhook_endpoints::post_failed_redrive),
            $routes!(webhook_endpoints::post_replay),
            $routes!(trace::get_trace),
            $routes!(simulator::list_simulated_outbox),
            $routes!(simulator::post_simulated_message),
        ]
    };
}

/// Names what `utoipa::path` says about a handler: `a::b` is `a::__path_b`.
macro_rules! described_path {
    ([$($module:ident)*] $handler:ident) => {
        paste! { $($module::)* [<__path_ $handler>] }
    };
    ([$($module:ident)*] $next:ident $($rest:ident)+) => {
        described_path!([$($module)* $next] $($rest)+)
    };
}

/// Makes the paths of handlers, each with its methods. Unlike `utoipa_axum::routes`, it describes nothing.
macro_rules! plain_routes {
    ($($($part:ident)::+),+ $(,)?) => {
        vec![$({
            let methods = <described_path!([] $($part)+) as utoipa::Path>::methods();
            let methods = methods.iter().fold(MethodRouter::new(), |routes, method| {
                routes.on(method.to_method_filter(), $($part)::+)
            });
            (<described_path!([] $($part)+) as utoipa::Path>::path(), methods)
        }),+]
    };
}

fn make_router<C: ApiContext>(
    routes: impl IntoIterator<Item = Vec<(String, MethodRouter<Api<C>>)>>,
) -> Router<Api<C>> {
    let routes = routes.into_iter().flatten();
    routes.fold(Router::new(), |router, (path, methods)| {
        router.route(&path, methods)
    })
}

/// Makes the description of the API.
#[cfg(test)]
pub(crate) fn describe_routes<C: ApiContext>() -> utoipa::openapi::OpenApi {
    use utoipa_axum::router::OpenApiRouter;
    use utoipa_axum::routes;
    let public = list_public_routes!(routes).into_iter();
    let public = public.fold(OpenApiRouter::<Api<C>>::new(), OpenApiRouter::routes);
    let operators = list_operator_routes!(routes).into_iter();
    let operators = operators.fold(OpenApiRouter::<Api<C>>::new(), OpenApiRouter::routes);
    describe::describe_api(public.into_openapi(), operators.into_openapi())
}

pub(crate) fn api_routes<Ports: Deps + 'static, K: Keys, D: QueueDepths>(
    deps: Arc<Ports>,
    keys: Arc<K>,
    options: ApiOptions<D>,
) -> Router {
    let api: Api<(Ports, K, D)> = Api {
        deps,
        keys,
        options: Arc::new(options),
        last_status: Arc::default(),
        refused_tokens: Arc::default(),
        last_reading: Arc::default(),
    };
    make_router(list_operator_routes!(plain_routes))
        .route_layer(from_fn_with_state(api.clone(), auth::require_permission))
        .merge(make_router(list_public_routes!(plain_routes)))
        .with_state(api)
}
