//! The texts that the model of vectors was asked about.

use super::FakeWorld;

impl FakeWorld {
    /// The model of vectors is asked about these texts.
    pub(super) fn note_embedded(&self, texts: &[String]) {
        let at_ms = self.simulation.elapsed_ms();
        let texts = texts.iter().map(|text| (at_ms, text.clone()));
        self.state().embedded.extend(texts);
    }

    /// When the model of vectors was asked last about these words of a document, in milliseconds since the start.
    pub fn embedded_ms(&self, words: &str) -> Option<i64> {
        let state = self.state();
        let of_it = state.embedded.iter().filter(|(_, text)| text.contains(words));
        of_it.map(|(at_ms, _)| *at_ms).max()
    }
}
