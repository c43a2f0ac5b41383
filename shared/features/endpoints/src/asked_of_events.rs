//! The part of a request that each handler of published events and of endpoints takes. It refuses the request where no events are
//! published.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use recado_domain::access::Caller;
use recado_http::api::context::Api;
use recado_http::api::request::Asked;
use recado_http::problem::HttpProblem;

/// Says why there are no events, and no posts of them. Only a stack on AWS can switch them off.
const NOT_PUBLISHED: &str =
    "this installation publishes no events: the parameter `PublishEvents` of its stack is `off`";

/// The state of the API, and the caller of a request about events. It is a 501 where none are published.
#[derive(Debug)]
pub struct AskedOfEvents(pub Api, pub Caller);

impl FromRequestParts<Api> for AskedOfEvents {
    type Rejection = HttpProblem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, HttpProblem> {
        let asked = Asked::from_request_parts(parts, api).await;
        let Asked(api, caller) =
            asked.map_err(|error| HttpProblem::new(error.status(), error.body_text()))?;
        if !api.options.publishes_events {
            return Err(HttpProblem::new(StatusCode::NOT_IMPLEMENTED, NOT_PUBLISHED));
        }
        Ok(Self(api, caller))
    }
}
