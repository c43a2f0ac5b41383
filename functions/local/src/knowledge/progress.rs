//! A progress bar on the terminal. Where standard error is no terminal, nothing is shown.

use std::io::{IsTerminal, Write, stderr};

/// Width of the bar, in characters.
const WIDTH: usize = 20;

/// The bar of a command that goes through a known number of things.
#[derive(Debug)]
pub(super) struct ProgressBar {
    all: usize,
    begun: usize,
    is_shown: bool,
}

impl ProgressBar {
    /// Starts a bar. A single thing needs none.
    pub(super) fn start(all: usize) -> Self {
        Self {
            all,
            begun: 0,
            is_shown: all > 1 && stderr().is_terminal(),
        }
    }

    /// Shows that the next thing is begun.
    pub(super) fn show_step(&mut self, name: &str) {
        self.begun += 1;
        if self.is_shown {
            Self::write_line(&format_bar(self.begun, self.all, name));
        }
    }

    /// Removes the bar from its line, before something else is written there.
    pub(super) fn clear_line(&self) {
        if self.is_shown {
            Self::write_line("");
        }
    }

    /// Writes over the line. A terminal that cannot be written to shows no bar.
    fn write_line(line: &str) {
        let mut terminal = stderr().lock();
        let _ = write!(terminal, "\r\u{1b}[K{line}");
        let _ = terminal.flush();
    }
}

fn format_bar(begun: usize, all: usize, name: &str) -> String {
    let filled = WIDTH * begun.saturating_sub(1) / all.max(1);
    let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
    format!(
        "[{}{}] {begun}/{all} {name}",
        "#".repeat(filled),
        ".".repeat(WIDTH - filled)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_with_what_is_done() {
        assert_eq!(format_bar(1, 4, "a.md"), "[....................] 1/4 a.md");
        assert_eq!(format_bar(3, 4, "b\u{1b}.md"), "[##########..........] 3/4 b.md");
    }
}
