//! Finds the words of documents: of new ones, and again of stored ones whose words were found in an earlier way.

use crate::analyzer::ANALYSIS;
use crate::{AnalyzedText, SplitSettings, TextAnalyzer, detect_language, split_document};
use recado_domain::knowledge::{KnowledgeSnapshot, SourceId, SplitBlock, SplitDocument};
use std::collections::{BTreeSet, HashMap};

/// Splits a text into blocks, each with what the index keeps of it. The title counts among the words of each block, as its
/// headings do.
pub fn analyze_document(title: &str, text: &str, settings: SplitSettings) -> SplitDocument {
    let (mut blocks, mut words) = (Vec::new(), BTreeSet::new());
    let mut analyzer = TextAnalyzer::default();
    for block in split_document(text, settings) {
        let mut kept = analyze_block_text(&mut analyzer, title, &block.place, &block.text);
        words.append(&mut kept.words);
        blocks.push(SplitBlock {
            place: block.place,
            text: block.text,
            language: kept.language.as_str().to_owned(),
            stems: kept.stems,
        });
    }
    SplitDocument {
        blocks,
        words: words.into_iter().collect(),
        analysis: ANALYSIS,
        ..SplitDocument::default()
    }
}

/// Finds the words and stems of all sources anew whose words were found in another way than the present one. Takes the processor for
/// a while if there are many.
pub fn renew_analysis(snapshot: &mut KnowledgeSnapshot) {
    let outdated = snapshot
        .sources
        .iter()
        .filter(|source| source.analysis != ANALYSIS);
    let mut words: HashMap<SourceId, (String, BTreeSet<String>)> = outdated
        .map(|source| (source.id.clone(), (source.title.clone(), BTreeSet::new())))
        .collect();
    if words.is_empty() {
        return;
    }
    let mut analyzer = TextAnalyzer::default();
    for block in &mut snapshot.blocks {
        let Some((title, words)) = words.get_mut(&block.source) else {
            continue;
        };
        let mut kept = analyze_block_text(&mut analyzer, title, &block.place, &block.text);
        words.append(&mut kept.words);
        kept.language.as_str().clone_into(&mut block.language);
        block.stems = kept.stems;
    }
    for source in &mut snapshot.sources {
        if let Some((_, words)) = words.remove(&source.id) {
            source.words = words.into_iter().collect();
            source.analysis = ANALYSIS;
        }
    }
}

fn analyze_block_text(analyzer: &mut TextAnalyzer, title: &str, place: &str, text: &str) -> AnalyzedText {
    let indexed = format!("{title}. {place}. {text}");
    analyzer.analyze_text(&indexed, detect_language(&indexed))
}
