//! The progress of long work, in one line of the terminal. Where standard error is no terminal, nothing is shown.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Width of the bar, in characters.
const WIDTH: usize = 20;

/// The longest text beside the bar, in characters.
const TEXT_MAX: usize = 40;

/// The shortest time between two amounts: nobody reads more.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// A bar for a known number of things, or a count where nobody knows how many there are. It is gone once it is dropped.
#[derive(Debug)]
pub struct ProgressBar {
    all: Option<u64>,
    begun: u64,
    shown_at: Option<Instant>,
    is_terminal: bool,
}

impl ProgressBar {
    /// Starts a bar for so many things. A single thing needs none.
    pub fn start(all: usize) -> Self {
        let all = u64::try_from(all).unwrap_or(u64::MAX);
        Self::start_on(Some(all), all > 1 && stderr().is_terminal())
    }

    /// Starts a count of things, where nobody knows how many there are.
    pub fn start_counting() -> Self {
        Self::start_on(None, stderr().is_terminal())
    }

    fn start_on(all: Option<u64>, is_terminal: bool) -> Self {
        Self {
            all,
            begun: 0,
            shown_at: None,
            is_terminal,
        }
    }

    /// Shows that the next thing is begun, by its name.
    pub fn show_step(&mut self, name: &str) {
        self.begun += 1;
        let (filled, begun) = (self.begun - 1, self.begun);
        self.show_line(|all| match all {
            Some(all) => format!("{} {begun}/{all} {}", format_bar(filled, all), cut_name(name)),
            None => format!("{begun} {}", cut_name(name)),
        });
    }

    /// Shows that `done` of all things are done, such as bytes, and what is being done with them.
    pub fn show_amount(&mut self, done: u64, doing: &str) {
        if self
            .shown_at
            .is_some_and(|shown| shown.elapsed() < SHORTEST_PAUSE)
        {
            return;
        }
        self.show_line(|all| match all {
            Some(all) => {
                let part = done.min(all).saturating_mul(100) / all.max(1);
                format!("{} {part} % {}", format_bar(done, all), cut_name(doing))
            }
            None => format!("{} {done}", cut_name(doing)),
        });
    }

    /// Removes the bar from its line, before something else is written there.
    pub fn clear_line(&mut self) {
        if self.shown_at.take().is_some() {
            write_over_line("");
        }
    }

    fn show_line(&mut self, format: impl FnOnce(Option<u64>) -> String) {
        if self.is_terminal {
            write_over_line(&format(self.all));
            self.shown_at = Some(Instant::now());
        }
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        self.clear_line();
    }
}

/// Writes over the line. A terminal that cannot be written to shows no bar.
fn write_over_line(line: &str) {
    let mut terminal = stderr().lock();
    let _ = write!(terminal, "\r\u{1b}[K{line}");
    let _ = terminal.flush();
}

fn format_bar(done: u64, all: u64) -> String {
    let all = all.max(1);
    let share = u128::from(done.min(all)) * WIDTH as u128 / u128::from(all);
    let filled = usize::try_from(share).unwrap_or(WIDTH);
    format!("[{}{}]", "#".repeat(filled), ".".repeat(WIDTH - filled))
}

/// Cuts a name to what fits beside the bar, without what would move the cursor.
fn cut_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(TEXT_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_with_what_is_done() {
        assert_eq!(format_bar(0, 4), "[....................]");
        assert_eq!(format_bar(2, 4), "[##########..........]");
        assert_eq!(
            format_bar(u64::MAX, u64::MAX),
            "[####################]",
            "of any number of bytes"
        );
        assert_eq!(format_bar(7, 0), "[####################]");
        assert_eq!(cut_name("b\u{1b}.md"), "b.md");
    }
}
