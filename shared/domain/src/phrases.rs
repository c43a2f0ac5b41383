//! Lists of words and phrases that stand in text files.

use std::sync::LazyLock;

/// The words or phrases of a file, in its order.
pub(crate) type Phrases = LazyLock<Vec<&'static str>>;

/// Lists the words or phrases of a file, one of each line. A line that begins with `#` is a remark.
pub(crate) fn list_phrases(file: &'static str) -> Vec<&'static str> {
    file.lines().filter(|line| !line.starts_with('#')).collect()
}
