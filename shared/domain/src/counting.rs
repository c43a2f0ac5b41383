//! Numbers of things in words.

/// Writes a number of things, such as "1 message" or "2 messages". The plural of `thing` ends with "s".
pub fn count_things(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_no_plural() {
        let counts = [0, 1, 2].map(|count| count_things(count, "dead letter"));
        assert_eq!(counts, ["0 dead letters", "1 dead letter", "2 dead letters"]);
    }
}
