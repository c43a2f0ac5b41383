//! Adds and removes sources: writes a new snapshot, and then makes it the present one.

use crate::KnowledgeError;
use crate::vectors::{VectorMaking, VectorState, describe_vectors, make_block_vectors};
use crate::writing::{ChangedKnowledge, audit_change, change_snapshot};
use futures::stream::{self, StreamExt};
use jiff::SignedDuration;
use recado_domain::Timestamp;
use recado_domain::access::Caller;
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::{
    KnowledgeBlock, KnowledgeSnapshot, KnowledgeSource, MadeVectors, SourceId, SplitDocument, VectorGap,
};
use recado_domain::media_type::{MediaType, find_charset};
use recado_domain::message::TextGap;
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_ports::ports::{DocumentToRead, FetchedDocument, PageFailure, ReadingFailure};
use std::collections::BTreeSet;

/// Maximum number of characters of a source's title.
pub(super) const TITLE_MAX: usize = 300;

/// A document that is to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    /// The name of the file, or the address of the page. A source with this title is replaced.
    pub title: String,
    /// The MIME type that the sender or a server named: tells what kind of text a text is.
    pub content_type: Option<String>,
    /// The file.
    pub bytes: Vec<u8>,
}

/// The effect of adding a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceOutcome {
    /// The source is new.
    Added,
    /// The source was there with other content.
    Replaced,
    /// The source was there with the same content: nothing was written.
    Unchanged,
}

/// A source after its document was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedSource {
    /// The source.
    pub source: KnowledgeSource,
    /// Effect of adding it.
    pub outcome: SourceOutcome,
    /// The vectors of its blocks.
    pub vectors: VectorState,
    /// The pages of a PDF document that could not be read and were left out.
    pub unread_pages: Vec<usize>,
}

/// Adds a document to the knowledge of an agent, in place of the one with its title. The same content once more changes nothing, but
/// makes vectors that its blocks lack.
pub async fn add_source(
    deps: &Deps,
    caller: &Caller,
    agent: &AgentId,
    document: NewDocument,
) -> Result<AddedSource, KnowledgeError> {
    let knowledge = ChangedKnowledge::begin(deps, caller, agent).await?;
    add_source_within(deps, caller, &knowledge, document, None).await
}

/// Does the same; no vectors are made after the time `vectors_until`.
pub(super) async fn add_source_within(
    deps: &Deps,
    caller: &Caller,
    knowledge: &ChangedKnowledge,
    document: NewDocument,
    vectors_until: Option<Timestamp>,
) -> Result<AddedSource, KnowledgeError> {
    let title = document.title.trim().to_owned();
    if title.is_empty() || title.chars().count() > TITLE_MAX || title.chars().any(char::is_control) {
        return Err(KnowledgeError::Title);
    }
    let id = SourceId::of_title(&knowledge.agent, &title);
    let content_hash = hash_content(&document.bytes);
    let present = knowledge.read_present(deps).await?;
    let before = present.find_source(&id).cloned();
    if let Some(source) = before
        .clone()
        .filter(|before| before.content_hash == content_hash)
    {
        let unchanged = (present, source);
        return complete_vectors(deps, caller, knowledge, unchanged, vectors_until).await;
    }
    let named = (id, title, content_hash);
    let (source, blocks, unread_pages) = read_document(deps, &knowledge.tenant, named, document).await?;
    let limits = deps.settings().knowledge;
    let planned = present.with_changes(limits, &[], vec![(source.clone(), blocks.clone())])?;
    let making = make_missing_vectors(deps, &planned, &source.id, vectors_until).await;
    audit_change(deps, caller, knowledge, format!("added {}", source.id)).await?;
    let (next, refused) = change_snapshot(deps, knowledge, present, &making.made, |present| {
        Ok(present.with_changes(limits, &[], vec![(source.clone(), blocks.clone())])?)
    })
    .await?;
    let outcome = if before.is_some() {
        SourceOutcome::Replaced
    } else {
        SourceOutcome::Added
    };
    let vectors = describe_vectors(deps, &next, Some(&source.id), making.gap.or(refused));
    Ok(AddedSource {
        source,
        outcome,
        vectors,
        unread_pages,
    })
}

/// Reads a document as a source with this id, title and hash of its content. Returns the source, its blocks, and the pages that could not
/// be read.
async fn read_document(
    deps: &Deps,
    tenant: &TenantId,
    (id, title, content_hash): (SourceId, String, String),
    document: NewDocument,
) -> Result<(KnowledgeSource, Vec<KnowledgeBlock>, Vec<usize>), KnowledgeError> {
    let bytes = document.bytes.len() as u64;
    let split = split_into_blocks(deps, tenant, &title, document).await?;
    let blocks = split.blocks.into_iter().map(|block| block.into_block_of(&id));
    let blocks: Vec<KnowledgeBlock> = blocks.collect();
    let source = KnowledgeSource {
        id,
        title,
        content_hash,
        bytes,
        added_at: deps.system().now(),
        blocks: blocks.len(),
        is_cut: split.is_cut,
        words: split.words,
        analysis: split.analysis,
    };
    Ok((source, blocks, split.unread_pages))
}

/// Makes the vectors that the blocks of a source lack. None are made that could not stand beside those of the other blocks.
async fn make_missing_vectors(
    deps: &Deps,
    snapshot: &KnowledgeSnapshot,
    source: &SourceId,
    until: Option<Timestamp>,
) -> VectorMaking {
    let present = snapshot.vectors.as_ref().map(|vectors| vectors.model.as_str());
    if present.is_some() && present != deps.llm().embedding_model() {
        return VectorMaking {
            gap: Some(VectorGap::OtherModel),
            ..VectorMaking::default()
        };
    }
    make_block_vectors(deps, snapshot.list_unembedded(Some(source)), until).await
}

/// Makes the vectors that an unchanged source lacks. Nothing is written if it lacks none, or none can be made.
async fn complete_vectors(
    deps: &Deps,
    caller: &Caller,
    knowledge: &ChangedKnowledge,
    (present, source): (KnowledgeSnapshot, KnowledgeSource),
    until: Option<Timestamp>,
) -> Result<AddedSource, KnowledgeError> {
    let making = make_missing_vectors(deps, &present, &source.id, until).await;
    let limits = deps.settings().knowledge;
    let (next, refused) = if making.made.has_no_vectors() {
        (present, None)
    } else {
        let change = format!("vectors of {} are made", source.id);
        audit_change(deps, caller, knowledge, change).await?;
        change_snapshot(deps, knowledge, present, &making.made, |present| {
            Ok(present.with_changes(limits, &[], Vec::new())?)
        })
        .await?
    };
    let vectors = describe_vectors(deps, &next, Some(&source.id), making.gap.or(refused));
    Ok(AddedSource {
        source,
        outcome: SourceOutcome::Unchanged,
        vectors,
        unread_pages: Vec::new(),
    })
}

/// Removes a source with its blocks.
pub async fn remove_source(
    deps: &Deps,
    caller: &Caller,
    agent: &AgentId,
    id: &SourceId,
) -> Result<(), KnowledgeError> {
    let knowledge = ChangedKnowledge::begin(deps, caller, agent).await?;
    let present = knowledge.read_present(deps).await?;
    present.find_source(id).ok_or(KnowledgeError::NoSource)?;
    audit_change(deps, caller, &knowledge, format!("removed {id}")).await?;
    let limits = deps.settings().knowledge;
    change_snapshot(deps, &knowledge, present, &MadeVectors::default(), |present| {
        present.find_source(id).ok_or(KnowledgeError::NoSource)?;
        Ok(present.with_changes(limits, std::slice::from_ref(id), Vec::new())?)
    })
    .await?;
    Ok(())
}

/// Returns the SHA-256 of a document, in hexadecimal digits.
fn hash_content(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    hex::encode(Sha256::digest(bytes))
}

async fn split_into_blocks(
    deps: &Deps,
    tenant: &TenantId,
    title: &str,
    document: NewDocument,
) -> Result<SplitDocument, KnowledgeError> {
    let bytes = document.bytes;
    let content_type = document.content_type.as_deref();
    let refused = |gap| KnowledgeError::Document {
        title: title.to_owned(),
        gap,
    };
    let empty = || KnowledgeError::Empty {
        title: title.to_owned(),
    };
    if bytes.is_empty() {
        return Err(empty());
    }
    let media_type = MediaType::from_file(&bytes, Some(title)).ok_or_else(|| refused(TextGap::OtherType))?;
    let read = DocumentToRead {
        tenant,
        bytes,
        media_type: media_type.with_named_type(content_type),
        charset: content_type.and_then(find_charset),
    };
    let split = deps
        .llm()
        .split_document(title, read, deps.settings().knowledge_block_characters)
        .await
        .map_err(|failure| match failure {
            ReadingFailure::Gap(gap) => refused(gap),
            ReadingFailure::Busy => KnowledgeError::Busy,
            ReadingFailure::Failed(_) => refused(TextGap::TooManyAttempts),
        })?;
    if split.blocks.is_empty() {
        return Err(empty());
    }
    Ok(split)
}

/// Greatest number of pages of one request.
pub const PAGES_MAX: usize = 10;

/// The largest page, in bytes. All pages of a request are in memory together.
const PAGE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Number of pages that are fetched side by side.
const SIDE_BY_SIDE: usize = 5;

/// Longest time to fetch a page. The function `api` has 29 seconds for all, and so each part of them has its own.
const FETCH_TIMEOUT: SignedDuration = SignedDuration::from_secs(8);

/// The time in which pages are fetched.
const FETCH_WITHIN: SignedDuration = SignedDuration::from_secs(10);

/// The time in which the last page may begin to be added. Reading a PDF document may take 10 seconds more.
const BEGIN_WITHIN: SignedDuration = SignedDuration::from_secs(13);

/// The time in which vectors are made.
const VECTORS_WITHIN: SignedDuration = SignedDuration::from_secs(22);

/// A page with the source that it became.
#[derive(Debug)]
pub struct PageOutcome {
    /// The URL of the page.
    pub url: String,
    /// The source, or the reason why it was not added.
    pub added: Result<AddedSource, PageRefusal>,
}

/// The reason why a page was not added.
#[derive(Debug, thiserror::Error)]
pub enum PageRefusal {
    /// Nothing was fetched.
    #[error(transparent)]
    Fetch(#[from] PageFailure),
    /// The document was refused.
    #[error(transparent)]
    Document(#[from] KnowledgeError),
    /// The time of the request was over.
    #[error("there was no time left for this page: ask for it again")]
    NoTime,
}

/// Adds the documents at these URLs to the knowledge of an agent, in their order. The title of each is its URL. Those for which there
/// is no time are told: the same request adds them, since it finds the others unchanged.
pub async fn add_pages(
    deps: &Deps,
    caller: &Caller,
    agent: &AgentId,
    urls: &[String],
) -> Result<Vec<PageOutcome>, KnowledgeError> {
    let knowledge = ChangedKnowledge::begin(deps, caller, agent).await?;
    let begun = deps.system().now();
    let mut seen = BTreeSet::new();
    let urls = urls.iter().map(|url| url.trim().to_owned());
    let urls: Vec<String> = urls.filter(|url| seen.insert(url.clone())).collect();
    let fetched: Vec<(String, Result<FetchedDocument, PageRefusal>)> = stream::iter(urls)
        .map(|url| fetch_in_time(deps, url, add_duration(begun, FETCH_WITHIN)))
        .buffered(SIDE_BY_SIDE)
        .collect()
        .await;
    let mut outcomes = Vec::with_capacity(fetched.len());
    for (url, fetched) in fetched {
        let is_late = deps.system().now() >= add_duration(begun, BEGIN_WITHIN);
        let added = match fetched {
            Ok(_) if is_late => Err(PageRefusal::NoTime),
            Ok(page) => {
                let document = NewDocument {
                    title: url.clone(),
                    content_type: page.content_type,
                    bytes: page.bytes,
                };
                let vectors_until = Some(add_duration(begun, VECTORS_WITHIN));
                let added = add_source_within(deps, caller, &knowledge, document, vectors_until).await;
                added.map_err(PageRefusal::from)
            }
            Err(refusal) => Err(refusal),
        };
        outcomes.push(PageOutcome { url, added });
    }
    Ok(outcomes)
}

async fn fetch_in_time(
    deps: &Deps,
    url: String,
    until: Timestamp,
) -> (String, Result<FetchedDocument, PageRefusal>) {
    let left = until.duration_since(deps.system().now()).min(FETCH_TIMEOUT);
    if !left.is_positive() {
        return (url, Err(PageRefusal::NoTime));
    }
    let fetching = deps.llm().fetch_page(
        &url,
        deps.settings().private_pages,
        PAGE_BYTES_MAX,
        left.unsigned_abs(),
    );
    let fetched = fetching.await.map_err(PageRefusal::from);
    (url, fetched)
}
