//! Limits how many wrong tokens one address is told of.
//!
//! Whoever shows a token that opens something is never held up, from whatever address: the limit concerns refusals alone.

use crate::problem::HttpProblem;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use recado_domain::access::GuessLimit;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Greatest number of addresses whose wrong tokens are counted apart.
const ADDRESSES_MAX: usize = 10_000;

/// The address under which all others are counted while so many are known.
const ALL_OTHERS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// The address of a request's client, which the server of the process adds to the request. A proxy's own address is no client's,
/// where it says whose request it passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

/// The wrong tokens of the last time, by address.
#[derive(Debug)]
struct TokenLimit {
    /// Times are counted from then on.
    begun: Instant,
    known: Mutex<HashMap<IpAddr, GuessLimit>>,
}

impl Default for TokenLimit {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            known: Mutex::default(),
        }
    }
}

impl TokenLimit {
    /// Notes a wrong token. If the address tried too many, returns the time after which it may try again, and notes none.
    fn note_refusal(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let now = now.saturating_duration_since(self.begun);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= ADDRESSES_MAX && !known.contains_key(&address) {
            known.retain(|_, limit| !limit.is_free(now));
        }
        let is_full = known.len() >= ADDRESSES_MAX && !known.contains_key(&address);
        let limit = known
            .entry(if is_full { ALL_OTHERS } else { address })
            .or_default();
        limit.note_wrong_token(now)
    }
}

/// Limits the refused tokens of the routes.
pub fn limit_refused_tokens(routes: Router) -> Router {
    routes.layer(from_fn_with_state(
        Arc::<TokenLimit>::default(),
        answer_refused_token,
    ))
}

/// Answers a refused token with 429 if its address showed too many of them.
async fn answer_refused_token(
    State(limit): State<Arc<TokenLimit>>,
    request: Request,
    next: Next,
) -> Response {
    let address = request.extensions().get::<ClientAddress>().copied();
    let address = address.filter(|_| request.headers().contains_key(header::AUTHORIZATION));
    let response = next.run(request).await;
    let Some(ClientAddress(address)) = address.filter(|_| response.status() == StatusCode::UNAUTHORIZED)
    else {
        return response;
    };
    let Some(wait) = limit.note_refusal(address, Instant::now()) else {
        return response;
    };
    let seconds = HeaderValue::from(wait.as_secs().saturating_add(1));
    HttpProblem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "too many wrong tokens from this address",
    )
    .with_header(header::RETRY_AFTER, seconds)
    .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_counted_apart_as_long_as_there_is_room_and_forgotten_in_time() {
        let limit = TokenLimit::default();
        let now = Instant::now();
        let address = |number: u32| IpAddr::from(Ipv4Addr::from(0x0a00_0000 + number));
        let count = || limit.known.lock().unwrap().len();
        for number in 0..20_000 {
            assert!(limit.note_refusal(address(number), now).is_none() || number >= 10_000);
        }
        assert_eq!(count(), ADDRESSES_MAX + 1, "the rest is counted together");
        assert!(limit.note_refusal(address(30_000), now).is_some());
        assert_eq!(limit.note_refusal(address(7), now), None);
        let later = now + Duration::from_secs(600);
        assert_eq!(limit.note_refusal(address(30_000), later), None);
        assert!(count() <= 2, "{}", count());
    }
}
