//! The routes that operators, monitors and the command line call. A route stands in one of two lists. `list_public_routes` needs no
//! token: `GET /health/whatsapp` returns the status alone without one. `list_operator_routes` needs a token, as `Authorization:
//! Bearer`; [`permissions`] says which permission its role must include. The description of the API (`GET /openapi.json`) is made of
//! the same two lists by the tests, and kept as `docs/openapi.json`. What describes routes and types is compiled for tests alone
//! (`cfg_attr(test, …)`, and the feature `schema` of the crates whose types the JSON holds).

mod alerts;
mod annotations;
mod answer_view;
mod appointments;
mod audit;
mod auth;
mod batches;
mod catch_up;
mod checks;
mod config;
mod console_sessions;
mod contacts;
mod context;
mod conversations;
mod dead_letters;
#[cfg(test)]
mod describe;
mod description;
mod effects;
mod entries;
mod entry_kinds;
mod error_mapping;
mod events;
mod health;
mod instance_webhook;
mod invitation_export;
mod invitation_log;
mod invitations;
mod knowledge;
mod knowledge_pages;
mod knowledge_search;
mod media;
mod messages;
mod metrics;
mod metrics_page;
mod notices;
mod occasions;
mod onboarding;
mod opt_outs;
mod outgoing_fields;
mod own_token;
pub(crate) mod permissions;
mod pieced_json;
#[cfg(test)]
mod problem_answers;
mod provider_setup;
mod public_status;
mod refused_tokens;
mod request;
#[cfg(test)]
mod schema;
mod sends;
mod simulator;
mod tenant_query;
mod tenant_removal;
mod tokens;
mod trace;
mod trends;
mod unacknowledged;
mod unsubscribe;
mod usage;
mod view;
mod webhook_endpoints;
mod whatsapp;

pub use context::ApiOptions;
pub use metrics_page::{GaugeReading, MetricsPage};
pub use provider_setup::{
    ConnectRequest, PhonePairing, ProviderSetup, SetupAction, SetupAnswer, SetupCheck, SetupError,
    SetupRequest,
};

use crate::keys::Keys;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::MethodRouter;
use context::Api;
use entry_kinds::{agents, calendars, instances, tenants, tools};
use recado_pipeline::Deps;
use std::sync::Arc;

/// Lists the routes that need no token. `$routes` makes what is wanted of a path, its methods and their handlers.
macro_rules! list_public_routes {
    ($routes:ident) => {
        [
            $routes!("/health" => get health::get_health),
            $routes!("/health/whatsapp" => get whatsapp::get_whatsapp_health),
            $routes!("/unsubscribe/{token}" =>
                get unsubscribe::get_unsubscribe_page,
                post unsubscribe::post_unsubscribe
            ),
            $routes!("/v1/files/{id}" => get media::get_linked_file),
            $routes!("/openapi.json" => get description::get_openapi),
            $routes!("/docs" => get description::get_docs_page),
            $routes!("/docs.js" => get description::get_docs_script),
        ]
    };
}

/// Lists the routes of kinds of entries, each named by its module of [`entry_kinds`]. `$routes` is as above.
macro_rules! list_entry_routes {
    ($routes:ident: $($kind:ident),+) => {
        [$(
            $routes!(concat!("/v1/", stringify!($kind)) => get $kind::list_entries, post $kind::post_entry),
            $routes!(concat!("/v1/", stringify!($kind), "/{id}") =>
                get $kind::get_entry,
                put $kind::put_entry,
                delete $kind::delete_entry
            )
        ),+]
    };
}

/// Lists the routes that need a token. Each has a line in [`permissions::PERMISSIONS`]. `$routes` is as above.
macro_rules! list_operator_routes {
    ($routes:ident) => {{
        let mut listed = vec![
            $routes!("/health/whatsapp/detailed" => get whatsapp::detailed::get_detailed_whatsapp_health),
            $routes!("/health/whatsapp/dlq" => get dead_letters::get_dlq_health),
            $routes!(metrics::METRICS_PATH => get metrics::get_metrics),
            $routes!("/v1/trends" => get trends::get_trends),
            $routes!("/v1/usage" => get usage::get_usage),
            $routes!("/v1/config" =>
                get config::get_configuration,
                put config::put_configuration,
                post config::post_configuration
            ),
            $routes!("/v1/config/webhooks" => get config::list_webhooks),
            $routes!("/v1/instances/{id}/secret/rotate" => post config::post_secret_rotation),
            $routes!("/v1/tenants" => get tenants::list_entries, post tenants::post_entry),
            $routes!("/v1/tenants/{id}" =>
                get tenants::get_entry,
                put tenants::put_entry,
                delete tenant_removal::delete_tenant
            ),
            $routes!("/v1/appointments" => get appointments::get_appointments),
            $routes!("/v1/agents/{id}/knowledge" =>
                get knowledge::list_knowledge,
                post knowledge::post_knowledge
            ),
            $routes!("/v1/agents/{id}/knowledge/pages" => post knowledge_pages::post_knowledge_pages),
            $routes!("/v1/agents/{id}/knowledge/search" => post knowledge_search::post_knowledge_search),
            $routes!("/v1/agents/{id}/knowledge/vectors" => post knowledge::post_knowledge_vectors),
            $routes!("/v1/agents/{id}/knowledge/{source}" =>
                get knowledge::get_knowledge_source,
                delete knowledge::delete_knowledge_source
            ),
            $routes!("/v1/instances/{id}/webhook" => get instance_webhook::get_instance_webhook),
            $routes!("/v1/instances/{id}/connect" => post onboarding::post_connect),
            $routes!("/v1/instances/{id}/pairing" => post onboarding::post_pairing),
            $routes!("/v1/instances/{id}/check" => post onboarding::post_check),
            $routes!("/v1/checks" => get checks::get_checks),
            $routes!("/v1/conversations" => get conversations::list_conversations),
            $routes!("/v1/conversations/{id}" =>
                get conversations::get_conversation,
                patch conversations::patch_conversation
            ),
            $routes!("/v1/conversations/{id}/messages" =>
                get messages::list_messages,
                post messages::post_answer
            ),
            $routes!("/v1/conversations/{id}/labels" => post annotations::post_labels),
            $routes!("/v1/conversations/{id}/notes" =>
                get annotations::list_notes,
                post annotations::post_note
            ),
            $routes!("/v1/conversations/{id}/notes/{number}" => delete annotations::delete_note),
            $routes!("/v1/conversations/{id}/effects" => get effects::list_effects),
            $routes!("/v1/conversations/{id}/effects/{number}" => post effects::post_effect),
            $routes!("/v1/messages/unacknowledged" => get unacknowledged::list_unacknowledged),
            $routes!("/v1/messages/{id}" => get messages::get_message, delete sends::delete_message),
            $routes!("/v1/instances/{id}/messages" => post sends::post_send),
            $routes!("/v1/instances/{id}/media" => post media::post_media),
            $routes!("/v1/messages/{id}/media" => get media::get_media),
            $routes!("/deliver/send" => post invitations::post_invitation),
            $routes!("/events/{event}/guests/{guest}/send" => post invitations::post_guest_invitation),
            $routes!("/deliver/{id}/status" => get invitation_log::get_invitation_status),
            $routes!("/wa/session/{phone}" => get invitation_log::get_session),
            $routes!("/v1/occasions/{id}/invitations" => get invitation_log::list_invitations),
            $routes!("/deliver/batches" => get batches::list_batches),
            $routes!("/deliver/batches/{id}" => get batches::get_batch),
            $routes!("/deliver/batches/{id}/recipients" => get batches::list_batch_recipients),
            $routes!("/deliver/batches/{id}/pause" => post batches::pause_batch),
            $routes!("/deliver/batches/{id}/resume" => post batches::resume_batch),
            $routes!("/deliver/batches/{id}/cancel" => post batches::cancel_batch),
            $routes!("/v1/occasions" => get occasions::list_occasions),
            $routes!("/v1/occasions/{id}" => get occasions::get_occasion),
            $routes!("/v1/occasions/{id}/guests/{guest}" => get occasions::get_guest),
            $routes!("/deliver/export" => get invitation_export::export_invitations),
            $routes!("/v1/occasions/{id}/guests" => get occasions::list_guests, post occasions::post_guests),
            $routes!("/v1/occasions/{id}/guests/{guest}" => delete occasions::delete_guest),
            $routes!("/v1/contacts/find" => post contacts::post_find),
            $routes!("/v1/contacts/export" => post contacts::post_export),
            $routes!("/v1/contacts/erase" => post contacts::post_erase),
            $routes!("/v1/opt-outs" => get opt_outs::get_opt_outs),
            $routes!("/v1/instances/{id}/notices" => get notices::list_notices),
            $routes!("/v1/instances/{id}/catch-up" => post catch_up::post_catch_up),
            $routes!("/v1/dead-letters" =>
                get dead_letters::list_dead_letters,
                delete dead_letters::mutations::delete_dead_letters
            ),
            $routes!("/v1/dead-letters/redrive" => post dead_letters::mutations::redrive_dead_letters),
            $routes!("/v1/dead-letters/{id}" =>
                get dead_letters::get_dead_letter,
                delete dead_letters::mutations::delete_dead_letter
            ),
            $routes!("/v1/dead-letters/{id}/redrive" => post dead_letters::mutations::redrive_dead_letter),
            $routes!("/v1/alerts" => get alerts::list_alerts),
            $routes!("/v1/alerts/notifications" => get alerts::list_notifications),
            $routes!("/v1/alerts/notifications/{id}/redrive" => post alerts::redrive_notification),
            $routes!("/v1/alerts/test" => post alerts::post_test),
            $routes!("/v1/token" => get own_token::get_own_token),
            $routes!("/v1/tokens" => get tokens::list_tokens, post tokens::post_token),
            $routes!("/v1/tokens/{name}" => delete tokens::delete_token),
            $routes!("/v1/audit" => get audit::get_audit),
            $routes!("/v1/events" => get events::get_events),
            $routes!("/v1/events/stream" => get events::get_event_stream),
            $routes!("/v1/events/tickets" => post events::post_push_ticket),
            $routes!("/v1/webhooks" =>
                get webhook_endpoints::list_webhook_endpoints,
                post webhook_endpoints::post_webhook_endpoint
            ),
            $routes!("/v1/webhooks/{id}" =>
                get webhook_endpoints::get_webhook_endpoint,
                put webhook_endpoints::put_webhook_endpoint,
                delete webhook_endpoints::delete_webhook_endpoint
            ),
            $routes!("/v1/webhooks/{id}/secret/rotate" => post webhook_endpoints::post_signing_rotation),
            $routes!("/v1/webhooks/{id}/test" => post webhook_endpoints::post_endpoint_test),
            $routes!("/v1/webhooks/{id}/failed" => get webhook_endpoints::list_failed_events),
            $routes!("/v1/webhooks/{id}/failed/redrive" => post webhook_endpoints::post_failed_redrive),
            $routes!("/v1/webhooks/{id}/replay" => post webhook_endpoints::post_replay),
            $routes!("/v1/trace" => get trace::get_trace),
            $routes!("/simulator/outbox" => get simulator::list_simulated_outbox),
            $routes!("/simulator/messages" => post simulator::post_simulated_message),
        ];
        listed.extend(list_entry_routes!($routes: agents, calendars, instances, tools));
        listed
    }};
}

/// Makes a path with its methods, without a description.
macro_rules! plain_routes {
    ($path:expr => $($method:ident $($part:ident)::+),+) => {
        ($path, MethodRouter::new()$(.$method($($part)::+))+)
    };
}

fn make_router(routes: impl IntoIterator<Item = (&'static str, MethodRouter<Api>)>) -> Router<Api> {
    let add = |router: Router<Api>, (path, methods)| router.route(path, methods);
    routes.into_iter().fold(Router::new(), add)
}

/// Makes the description of the API.
#[cfg(test)]
pub(crate) fn describe_routes() -> utoipa::openapi::OpenApi {
    use utoipa_axum::router::OpenApiRouter;
    macro_rules! described_routes {
        ($path:expr => $($method:ident $($part:ident)::+),+) => {
            utoipa_axum::routes!($($($part)::+),+)
        };
    }
    let public = list_public_routes!(described_routes).into_iter();
    let public = public.fold(OpenApiRouter::<Api>::new(), OpenApiRouter::routes);
    let operators = list_operator_routes!(described_routes).into_iter();
    let operators = operators.fold(OpenApiRouter::<Api>::new(), OpenApiRouter::routes);
    describe::describe_api(public.into_openapi(), operators.into_openapi())
}

/// The methods and the path of a handler.
#[cfg(test)]
pub(crate) type RoutePlace = (serde_json::Value, String);

/// Returns where the lists put each handler, and where `utoipa::path` says that it is.
#[cfg(test)]
pub(crate) fn compare_routes() -> Vec<(RoutePlace, RoutePlace)> {
    /// Names what `utoipa::path` says about a handler: `a::b` is `a::__path_b`.
    macro_rules! described_path {
        ([$($module:ident)*] $handler:ident) => {
            utoipa_axum::paste! { $($module::)* [<__path_ $handler>] }
        };
        ([$($module:ident)*] $next:ident $($rest:ident)+) => {
            described_path!([$($module)* $next] $($rest)+)
        };
    }
    macro_rules! compared_routes {
        ($path:expr => $($method:ident $($part:ident)::+),+) => {
            vec![$({
                let methods = <described_path!([] $($part)+) as utoipa::Path>::methods();
                let path = <described_path!([] $($part)+) as utoipa::Path>::path();
                let listed = (serde_json::json!([stringify!($method)]), $path.to_owned());
                (listed, (serde_json::json!(methods), path))
            }),+]
        };
    }
    let public = list_public_routes!(compared_routes).into_iter();
    let operators = list_operator_routes!(compared_routes).into_iter();
    public.chain(operators).flatten().collect()
}

/// Returns the operators' routes, to be finished or joined with those of the providers.
pub fn api_routes(deps: Arc<Deps>, keys: Arc<dyn Keys>, options: ApiOptions) -> Router {
    let api = Api::new(deps, keys, options);
    let routes = make_router(list_operator_routes!(plain_routes))
        .route_layer(from_fn_with_state(api.clone(), auth::require_permission))
        .merge(make_router(list_public_routes!(plain_routes)))
        .merge(console_sessions::session_routes())
        .with_state(api);
    crate::token_limit::limit_refused_tokens(routes)
}
