//! A thread that writes the lines of the log, so that no request waits for whoever reads the log.

use anyhow::{Context, Result};
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::Duration;
use tracing_subscriber::fmt::MakeWriter;

/// The pause after a write, in which lines are gathered.
///
/// Without it the thread would sleep until there is a line, and whoever logs that line would have to wake it. So the lines of the
/// pause are one write, and nobody has to wake the thread for them.
const GATHERING: Duration = Duration::from_millis(10);

/// The number of bytes that are gathered at most.
const GATHERED_BYTES: usize = 64 * 1024;

/// Longest time for which the end of the process waits for the last lines. A reader that takes nothing must not keep it.
const LAST_LINES: Duration = Duration::from_secs(1);

/// What the thread is given.
enum LogMessage {
    Line(Vec<u8>),
    End,
}

/// The lines that wait to be written. A line for which there is no room is dropped and counted.
#[derive(Debug, Clone)]
pub(crate) struct LineQueue {
    waiting: SyncSender<LogMessage>,
    dropped: Arc<AtomicU64>,
}

impl LineQueue {
    /// Returns the number of lines that were dropped.
    pub(crate) fn count_dropped_lines(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Write for &LineQueue {
    /// Takes a line. It is always taken as a whole.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.waiting.try_send(LogMessage::Line(line.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LineQueue {
    type Writer = &'a LineQueue;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

/// The thread that writes. Dropping it writes the lines that still wait.
#[derive(Debug)]
#[must_use]
pub(crate) struct LineWriter {
    waiting: SyncSender<LogMessage>,
    is_ending: Arc<AtomicBool>,
    ended: Receiver<()>,
}

impl LineWriter {
    /// Starts a thread that writes lines to `to`, while at most `most` lines wait.
    pub(crate) fn start_thread(most: usize, to: impl Write + Send + 'static) -> Result<(LineQueue, Self)> {
        let ((waiting, lines), (end, ended)) = (sync_channel(most), sync_channel(1));
        let is_ending = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_ending);
        let work = move || {
            write_lines(&lines, &seen, BufWriter::with_capacity(GATHERED_BYTES, to));
            // Nobody waits for it if the writer was given up.
            let _ = end.try_send(());
        };
        let thread = thread::Builder::new().name("recado-log".to_owned());
        thread
            .spawn(work)
            .context("the thread of the log could not be started")?;
        let queue = LineQueue {
            waiting: waiting.clone(),
            dropped: Arc::default(),
        };
        let writer = Self {
            waiting,
            is_ending,
            ended,
        };
        Ok((queue, writer))
    }
}

impl Drop for LineWriter {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Release);
        // It wakes a thread that waits for a line. A queue without room means that the thread is not waiting.
        let _ = self.waiting.try_send(LogMessage::End);
        let _ = self.ended.recv_timeout(LAST_LINES);
    }
}

/// Writes lines until the end. A failure to write is ignored: there is nowhere to tell it.
fn write_lines(lines: &Receiver<LogMessage>, is_ending: &AtomicBool, mut to: impl Write) {
    while let Ok(LogMessage::Line(first)) = lines.recv() {
        let _ = to.write_all(&first);
        let end = loop {
            match lines.try_recv() {
                Ok(LogMessage::Line(line)) => {
                    let _ = to.write_all(&line);
                }
                Ok(LogMessage::End) | Err(TryRecvError::Disconnected) => break true,
                Err(TryRecvError::Empty) => break is_ending.load(Ordering::Acquire),
            }
        };
        let _ = to.flush();
        if end {
            return;
        }
        thread::sleep(GATHERING);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    /// A reader of the log that takes nothing before it is told to.
    struct SlowReader {
        may_read: Receiver<()>,
        read: Sender<Vec<u8>>,
    }

    impl Write for SlowReader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Once nobody tells any more, everything is taken.
            let _ = self.may_read.recv();
            let _ = self.read.send(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_without_room_are_counted_and_the_others_are_written_at_the_end() {
        const LINE: &[u8] = b"a line\n";
        let ((go, may_read), (read, taken)) = (channel(), channel());
        let (queue, thread) = LineWriter::start_thread(4, SlowReader { may_read, read }).unwrap();
        let mut written = 0;
        while queue.count_dropped_lines() == 0 {
            (&queue).write_all(LINE).unwrap();
            written += 1;
        }
        drop(go);
        drop(thread);
        let lines: usize = taken.try_iter().map(|bytes| bytes.len() / LINE.len()).sum();
        assert_eq!(
            u64::try_from(lines).unwrap() + queue.count_dropped_lines(),
            written
        );
    }

    #[test]
    fn an_end_without_lines_is_no_wait() {
        let (read, taken) = channel();
        let (_, may_read) = channel();
        let (_queue, thread) = LineWriter::start_thread(4, SlowReader { may_read, read }).unwrap();
        drop(thread);
        assert_eq!(taken.try_iter().count(), 0);
    }
}
