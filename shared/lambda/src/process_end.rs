//! Learns when Lambda ends this process.
//!
//! Lambda sends SIGTERM half a second before it ends a process, but only to one that has registered an extension. So one is registered
//! that wants no events. It costs one request to the runtime API on the same machine, within the start.
//! <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-extensions-api.html>
//!
//! `lambda_runtime::spawn_graceful_shutdown_handler` does the same. It panics where there are no extensions, as on an emulator, and brings
//! more crates.

use axum::http::{Request, Uri};
use lambda_runtime_api_client::PooledClient;
use lambda_runtime_api_client::body::Body;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Path at which an extension is registered.
const REGISTER: &str = "/2020-01-01/extension/register";

/// Path at which an extension asks for its next event.
const NEXT_EVENT: &str = "/2020-01-01/extension/event/next";

/// Header of the id that an extension is given.
const ID_HEADER: &str = "lambda-extension-identifier";

/// Name of the extension, of which a function may have one.
const NAME: &str = "recado";

/// Longest time for registering. A start must not wait for an answer that does not come.
const REGISTER_LIMIT: Duration = Duration::from_secs(1);

/// Runs `at_end` when Lambda ends this process. Returns `false` if Lambda will not tell. To be called within the runtime, before the
/// first run.
pub(crate) async fn run_at_end(runtime_api: &str, at_end: impl FnOnce() + Send + 'static) -> bool {
    let Ok(endpoint) = runtime_api.parse::<Uri>() else {
        return false;
    };
    if endpoint.authority().is_none() {
        return false;
    }
    let (tells, registered) = oneshot::channel();
    // It goes on if nobody waits any more: a start is over once a registered extension asks for events.
    tokio::spawn(stay_registered(endpoint, tells));
    if !matches!(timeout(REGISTER_LIMIT, registered).await, Ok(Ok(()))) {
        return false;
    }
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        return false;
    };
    tokio::spawn(async move {
        if terminated.recv().await.is_some() {
            at_end();
        }
    });
    true
}

/// Registers the extension, tells that, and asks for events, of which none comes. Ends at once if the runtime API knows no extensions.
async fn stay_registered(endpoint: Uri, registered: oneshot::Sender<()>) -> Option<()> {
    let client = PooledClient::builder().with_endpoint(endpoint).build();
    let request = Request::post(REGISTER)
        .header("lambda-extension-name", NAME)
        .header("content-type", "application/json")
        .body(Body::from(r#"{"events":[]}"#))
        .ok()?;
    let answer = client.call(request).await.ok()?;
    let id = answer.headers().get(ID_HEADER)?;
    let request = Request::get(NEXT_EVENT)
        .header(ID_HEADER, id)
        .body(Body::empty())
        .ok()?;
    let events = client.call(request);
    registered.send(()).ok();
    // An answer or an error says nothing that this process needs.
    let _end = events.await;
    None
}

#[cfg(test)]
mod tests;
