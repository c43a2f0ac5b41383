//! Learns when Lambda ends this process.
//!
//! Lambda sends SIGTERM half a second before it ends a process, but only to one that has registered an extension. So one is registered
//! that wants no events. It costs one request to the runtime API on the same machine, within the start.
//! <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-extensions-api.html>
//!
//! `lambda_runtime::spawn_graceful_shutdown_handler` does the same. It panics where there are no extensions, as on an emulator, and brings
//! more crates.

use axum::http::{Request, Uri};
use futures::future::BoxFuture;
use lambda_runtime_api_client::PooledClient;
use lambda_runtime_api_client::body::Body;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

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
    let Some(events) = register_extension(runtime_api).await else {
        return false;
    };
    // A start is over once the extension asks for events. None comes.
    tokio::spawn(events);
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

/// Registers the extension. Returns its request for events; `None` if the runtime API knows no extensions.
async fn register_extension(runtime_api: &str) -> Option<BoxFuture<'static, ()>> {
    let endpoint: Uri = runtime_api.parse().ok()?;
    endpoint.authority()?;
    let client = PooledClient::builder().with_endpoint(endpoint).build();
    let request = Request::post(REGISTER)
        .header("lambda-extension-name", NAME)
        .header("content-type", "application/json")
        .body(Body::from(r#"{"events":[]}"#))
        .ok()?;
    let answer = tokio::time::timeout(REGISTER_LIMIT, client.call(request)).await;
    let answer = answer.ok()?.ok()?;
    let id = answer.headers().get(ID_HEADER)?;
    let request = Request::get(NEXT_EVENT)
        .header(ID_HEADER, id)
        .body(Body::empty())
        .ok()?;
    let events = client.call(request);
    Some(Box::pin(async move {
        // An answer or an error says nothing that this process needs.
        let _end = events.await;
    }))
}

#[cfg(test)]
mod tests;
