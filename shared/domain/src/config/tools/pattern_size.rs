//! The size of a regular expression of a JSON schema, before anything compiles it.

/// Greatest length of a pattern, in characters.
pub(super) const PATTERN_LENGTH_MAX: usize = 500;

/// Greatest size of a pattern: its characters, with what is repeated by a number counted so many times.
pub(super) const PATTERN_SIZE_MAX: u64 = 4_000;

/// The size of a class of characters by its Unicode property, which has hundreds of ranges.
const UNICODE_CLASS: u64 = 200;

/// The size of a class such as `\d` or `\w`.
const SMALL_CLASS: u64 = 8;

/// Returns the size of a pattern. It is never below what the compiled pattern has, in its order of magnitude.
pub(super) fn measure_pattern(pattern: &str) -> u64 {
    let mut reader = PatternReader::default();
    let mut left = pattern;
    while let Some(character) = left.chars().next() {
        left = &left[character.len_utf8()..];
        match character {
            '\\' => left = reader.read_escape(left),
            // A class of characters is a group of its members.
            '(' | '[' => reader.open_group(),
            ')' | ']' => reader.close_group(),
            '{' => left = reader.read_repetition(left),
            _ => reader.add_atom(1),
        }
    }
    while !reader.groups.is_empty() {
        reader.close_group();
    }
    reader.sum.saturating_add(reader.atom)
}

/// The sizes that are known so far. Members of a class of characters count as atoms of their own.
#[derive(Default)]
struct PatternReader {
    /// The sums of the groups around this one.
    groups: Vec<u64>,
    /// The sum of this group, without its last atom.
    sum: u64,
    /// The size of the last atom.
    atom: u64,
}

impl PatternReader {
    fn add_atom(&mut self, size: u64) {
        self.sum = self.sum.saturating_add(self.atom);
        self.atom = size;
    }

    fn open_group(&mut self) {
        self.groups.push(self.sum.saturating_add(self.atom));
        (self.sum, self.atom) = (0, 0);
    }

    fn close_group(&mut self) {
        let inner = self.sum.saturating_add(self.atom).saturating_add(1);
        self.sum = self.groups.pop().unwrap_or_default();
        self.atom = inner;
    }

    /// Reads what stands behind a backslash. Returns what is left.
    fn read_escape<'p>(&mut self, left: &'p str) -> &'p str {
        let Some(escaped) = left.chars().next() else {
            return left;
        };
        self.add_atom(match escaped {
            'p' | 'P' => UNICODE_CLASS,
            'd' | 'D' | 'w' | 'W' | 's' | 'S' | 'b' | 'B' => SMALL_CLASS,
            _ => 1,
        });
        let left = &left[escaped.len_utf8()..];
        if !matches!(escaped, 'p' | 'P' | 'u' | 'x') || !left.starts_with('{') {
            return left;
        }
        left.split_once('}').map_or("", |(_, left)| left)
    }

    /// Repeats the last atom as often as `{…}` says. Returns what is left.
    fn read_repetition<'p>(&mut self, left: &'p str) -> &'p str {
        let (counts, behind) = left.split_once('}').unwrap_or_default();
        let numbers: Option<Vec<u64>> = counts
            .split(',')
            .filter(|count| !count.trim().is_empty())
            .map(|count| count.trim().parse().ok())
            .collect();
        let Some(most) = numbers.and_then(|numbers| numbers.into_iter().max()) else {
            self.add_atom(1);
            return left;
        };
        self.atom = self.atom.saturating_mul(most.max(1));
        behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_written_out_also_within_each_other() {
        for (pattern, least) in [
            ("a{1000}", 1_000),
            ("(a{60}){60}", 3_600),
            ("[a-z]{2,500}", 1_500),
            (r"[{\p{L}]{500}", 100_000),
            (r"[]\p{L}]{500}", 100_000),
            (r"[(\p{L}]{500}", 100_000),
            (r"\p{L}{100,}", 20_000),
            ("((((a{99}){99}){99}){99}){99}", PATTERN_SIZE_MAX),
            ("a{18446744073709551615}{9}", u64::MAX),
        ] {
            assert!(
                measure_pattern(pattern) >= least,
                "{pattern}: {}",
                measure_pattern(pattern)
            );
        }
    }

    #[test]
    fn patterns_of_everyday_are_small() {
        for pattern in [
            "",
            r"^\d{3}\.\d{3}\.\d{3}-\d{2}$",
            "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
            r"^\w{1,64}@[a-z0-9.-]{1,63}\.\p{L}{2,8}$",
            r"^\u{1F600}[^)(]*\",
        ] {
            let size = measure_pattern(pattern);
            assert!(size < PATTERN_SIZE_MAX, "{pattern}: {size}");
        }
    }
}
