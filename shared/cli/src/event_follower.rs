//! Follows the published events of an installation: by their stream, and by their list where the stream ends.

use crate::installation::InstallationClient;
use crate::json_fields::{find_text, list_items, text_or_dash};
use anyhow::{Context, Result, bail};
use futures::stream::{self, BoxStream, StreamExt};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;
use sse_stream::{Sse, SseStream};
use std::io;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};

/// The longest time of one stream: longer than the installation lets one go on.
const STREAM_TIME: Duration = Duration::from_secs(20 * 60);

/// The longest silence of a stream, in which a sign of life comes every 15 seconds.
const SILENCE_MAX: Duration = Duration::from_secs(45);

/// The number of events on a page of the list.
const PAGE: &str = "200";

/// Returns each event once, from the place on at which it began.
pub(crate) struct EventFollower {
    there: InstallationClient,
    kinds: &'static str,
    /// The place behind the last event that was returned.
    place: String,
    stream: Option<BoxStream<'static, io::Result<Sse>>>,
    /// The shortest time between two openings of the stream, or two lists where there is none.
    pause: Duration,
    next_opening: Instant,
}

impl EventFollower {
    /// Begins behind the newest event.
    pub(crate) async fn start_following(
        there: InstallationClient,
        kinds: &'static str,
        pause: Duration,
    ) -> Result<Self> {
        Ok(Self {
            place: find_newest_place(&there).await?,
            there,
            kinds,
            stream: None,
            pause,
            next_opening: Instant::now(),
        })
    }

    /// Waits for events, and returns them in their order. It may return none. After an error the next call goes on from the same
    /// place.
    pub(crate) async fn wait_for_events(&mut self) -> Result<Vec<Value>> {
        if self.stream.is_none() {
            sleep_until(self.next_opening).await;
            self.next_opening = Instant::now() + self.pause;
            self.stream = self.open_stream().await?;
        }
        if let Some(stream) = &mut self.stream {
            if let Some(Ok(told)) = stream.next().await {
                return Ok(self.read_told_event(&told)?.into_iter().collect());
            }
            self.stream = None;
        }
        self.list_further_events().await
    }

    /// Opens the stream behind the place. `None`: there is none here, or something on the way does not let it through.
    async fn open_stream(&self) -> Result<Option<BoxStream<'static, io::Result<Sse>>>> {
        let query = [("after", self.place.as_str()), ("kind", self.kinds)];
        let path = ["v1", "events", "stream"];
        let request = self.there.build_request(Method::GET, &path)?;
        let request = request.query(&query).timeout(STREAM_TIME);
        let answer = self.there.exchange_request(request).await?;
        let kind = answer.headers().get(CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        // If it is refused, the list says why.
        let is_open = is_stream && answer.status().is_success();
        Ok(is_open.then(|| read_stream(answer)))
    }

    /// Reads an event of the stream. `None`: it is of another kind.
    fn read_told_event(&mut self, told: &Sse) -> Result<Option<Value>> {
        let (Some("change"), Some(data)) = (told.event.as_deref(), &told.data) else {
            return Ok(None);
        };
        let event: Value = serde_json::from_str(data).context("the stream tells what is no event")?;
        if let Some(place) = find_text(&event, "cursor").or(told.id.as_deref()) {
            place.clone_into(&mut self.place);
        }
        Ok(Some(event))
    }

    /// Lists the events behind the place.
    async fn list_further_events(&mut self) -> Result<Vec<Value>> {
        let query = [
            ("after", self.place.clone()),
            ("kind", self.kinds.to_owned()),
            ("limit", PAGE.to_owned()),
        ];
        let (status, page) = self.there.get_answer(&["v1", "events"], &query).await?;
        if status == StatusCode::BAD_REQUEST {
            // The installation began again from an older copy of its data, and this place is ahead of it.
            self.place = find_newest_place(&self.there).await?;
        }
        if !status.is_success() {
            bail!("{status}: {}", text_or_dash(&page, "detail"));
        }
        let events = list_items(&page, "items").to_vec();
        if let Some(next) = find_text(&page, "next")
            && next != self.place
        {
            next.clone_into(&mut self.place);
            // There may be more.
            self.next_opening = Instant::now();
        }
        Ok(events)
    }
}

/// Finds the place behind the newest event.
async fn find_newest_place(there: &InstallationClient) -> Result<String> {
    let query = [("after", "now".to_owned()), ("limit", "1".to_owned())];
    let page = there.get_json(&["v1", "events"], &query).await?;
    let place = find_text(&page, "next").context("the list of events has no place to go on")?;
    Ok(place.to_owned())
}

/// Reads the events of an answer. One that is silent for long is over.
fn read_stream(answer: Response) -> BoxStream<'static, io::Result<Sse>> {
    let pieces = stream::try_unfold(answer, async |mut answer| {
        let read = timeout(SILENCE_MAX, answer.chunk()).await;
        let piece = read.map_err(io::Error::other)?.map_err(io::Error::other)?;
        Ok::<_, io::Error>(piece.map(|piece| (piece, answer)))
    });
    let events = SseStream::from_bytes_stream(pieces);
    events.map(|told| told.map_err(io::Error::other)).boxed()
}
