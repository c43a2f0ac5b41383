//! Reads and parses the bodies of requests.

use crate::json_fault::describe_body_fault;
use crate::large_bodies::{LARGE_BODY_BYTES, LargeBodies, LargeBodyPermit};
use crate::problem::HttpProblem;
use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use futures::StreamExt;
use futures::future::{Either, select};
use recado_domain::json_depth::is_nested_too_deep;
use serde::Deserialize;
use std::error::Error;
use std::io;
use std::pin::pin;

/// The largest body that is read to its end although it is refused, in bytes. A client that is still writing when the
/// connection closes sees a broken pipe, and not the answer.
const DISCARDED_MAX: usize = 32 * 1024 * 1024;

/// Reads a body of at most `max` bytes. A larger `Content-Length` is refused, and nothing of the body is kept.
pub async fn read_body(headers: &HeaderMap, body: Body, max: usize) -> Result<Bytes, HttpProblem> {
    let length = content_length(headers);
    let (body, length) = refuse_too_large(body, length, max).await?;
    let mut reading = BodyReader::new(body, length, max);
    while reading.read_chunk().await? {}
    Ok(reading.read.into())
}

/// Reads a body of at most `max` bytes; a large body waits for its turn among the other large bodies. Returns the body,
/// and the permit of a large one. If the body is given up for a newer one, the error is a 503.
pub(crate) async fn read_body_in_turn(
    headers: &HeaderMap,
    body: Body,
    max: usize,
    large: &LargeBodies,
) -> Result<(Bytes, Option<LargeBodyPermit>), HttpProblem> {
    let length = content_length(headers);
    let (body, length) = refuse_too_large(body, length, max).await?;
    let mut reading = BodyReader::new(body, length, max);
    while reading.read.len() <= LARGE_BODY_BYTES {
        if !reading.read_chunk().await? {
            return Ok((reading.read.into(), None));
        }
    }
    let full = || HttpProblem::unavailable("too many large bodies are coming in: post it again");
    let (place, sent_away) = large.acquire_permit().await.ok_or_else(full)?;
    let rest = async {
        while reading.read_chunk().await? {}
        Ok::<_, HttpProblem>(reading.read)
    };
    match select(pin!(rest), sent_away).await {
        Either::Left((read, _)) => {
            place.mark_arrived();
            Ok((read?.into(), Some(place)))
        }
        Either::Right(_) => Err(full()),
    }
}

/// Returns the value of `Content-Length`. `None` if it is absent or not a number.
fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok())
}

async fn refuse_too_large(
    body: Body,
    length: Option<usize>,
    max: usize,
) -> Result<(Body, usize), HttpProblem> {
    let length = length.unwrap_or(0);
    if length <= max {
        return Ok((body, length));
    }
    if length <= DISCARDED_MAX {
        let mut rest = body.into_data_stream();
        while let Some(Ok(_)) = rest.next().await {}
    }
    Err(HttpProblem::body_too_large(max))
}

/// A body that is being read.
struct BodyReader {
    rest: BodyDataStream,
    read: Vec<u8>,
    max: usize,
}

impl BodyReader {
    /// Reserves memory for the announced length. The memory costs nothing before it is filled.
    fn new(body: Body, length: usize, max: usize) -> Self {
        Self {
            rest: body.into_data_stream(),
            read: Vec::with_capacity(length.min(max)),
            max,
        }
    }

    /// Reads the next chunk. `false` at the end of the body.
    async fn read_chunk(&mut self) -> Result<bool, HttpProblem> {
        let Some(chunk) = self.rest.next().await else {
            return Ok(false);
        };
        let chunk = chunk.map_err(|error| read_problem(&error))?;
        if self.read.len() + chunk.len() > self.max {
            return Err(HttpProblem::body_too_large(self.max));
        }
        self.read.extend_from_slice(&chunk);
        Ok(true)
    }
}

/// Maps the error of reading a body: a 408 if it took too long, a 400 if the connection broke off.
fn read_problem(error: &axum::Error) -> HttpProblem {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let timed_out = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
        if error.downcast_ref().is_some_and(timed_out) {
            return HttpProblem::new(StatusCode::REQUEST_TIMEOUT, "the body took too long to arrive");
        }
        cause = error.source();
    }
    HttpProblem::bad_request("the body could not be read")
}

/// Parses a JSON body that may be left out or `null`. A malformed body is a 400.
pub fn parse_optional_body<'a, T: Deserialize<'a> + Default>(body: &'a [u8]) -> Result<T, HttpProblem> {
    if body.is_empty() {
        return Ok(T::default());
    }
    let parsed: Option<T> = parse_json_body(body)?;
    Ok(parsed.unwrap_or_default())
}

/// Parses a JSON body. A malformed body is a 400, and so is one that is nested so deeply that its record could not be read again.
pub fn parse_json_body<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, HttpProblem> {
    if is_nested_too_deep(body) {
        return Err(HttpProblem::bad_request("the body is nested too deeply"));
    }
    serde_json::from_slice(body).map_err(|error| body_problem(body, &error))
}

/// Says what is wrong with a body.
fn body_problem(body: &[u8], error: &serde_json::Error) -> HttpProblem {
    let why = describe_body_fault(body, error);
    HttpProblem::bad_request(format!("the body is malformed: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value};

    #[test]
    fn a_body_that_may_be_left_out_may_be_null_and_is_nothing_else() {
        for nothing in [b"".as_slice(), b"null", b"{}"] {
            let parsed: Map<String, Value> = parse_optional_body(nothing).unwrap();
            assert!(parsed.is_empty());
        }
        for wrong in [b"[]".as_slice(), b"0", b"{"] {
            assert!(
                parse_optional_body::<Map<String, Value>>(wrong).is_err(),
                "{wrong:?}"
            );
        }
    }
}
