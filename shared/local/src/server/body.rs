//! Request bodies with a time limit.

use super::connections::{ConnectionPhase, ServerConnection};
use axum::body::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Sleep;

/// A body that fails if it has not arrived completely in time.
pub(super) struct TimedBody {
    body: Incoming,
    over: Pin<Box<Sleep>>,
    connection: ServerConnection,
}

impl TimedBody {
    pub(super) fn new(body: Incoming, limit: Duration, connection: ServerConnection) -> Self {
        Self {
            body,
            over: Box::pin(tokio::time::sleep(limit)),
            connection,
        }
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match polled {
            Poll::Pending if self.over.as_mut().poll(cx).is_ready() => {
                self.connection.enter_phase(ConnectionPhase::Ending);
                let late = io::Error::new(io::ErrorKind::TimedOut, "the body took too long");
                Poll::Ready(Some(Err(late.into())))
            }
            Poll::Pending => Poll::Pending,
            Poll::Ready(frame) => {
                if frame.is_none() || self.body.is_end_stream() {
                    self.connection.enter_phase(ConnectionPhase::Answering);
                }
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
