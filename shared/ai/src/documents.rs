//! Has the text of documents read, each by a process of its own or on a thread. Few are read at once in this process, and of each tenant
//! one for its messages and one for its knowledge: a tenant whose document takes long takes no time of the others.

use crate::pdf::{PdfFailure, join_page_texts};
use crate::reading_process::{ProcessFailure, read_in_process};
use recado_documents::{
    DocumentError, DocumentText, ReadContent, ReadingLimits, ReadingPurpose, ReadingTask, read_document,
};
use recado_domain::ids::TenantId;
use recado_domain::knowledge::SplitDocument;
use recado_domain::media_type::MediaType;
use recado_domain::message::TextGap;
use recado_knowledge_search::{SplitSettings, analyze_document};
use recado_ports::ports::{DocumentToRead, ReadDocument, ReadingFailure};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Time that a document of a business waits for one of the places of the process.
const KNOWLEDGE_WAIT: Duration = Duration::from_secs(5);

/// Number of tenants above which those are forgotten for which nothing is read.
const TENANTS_KEPT: usize = 1_000;

/// Where documents are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadingPlace {
    /// In a process of its own, which is this program with the arguments of [`ReadingLimits::to_arguments`].
    OwnProcess,
    /// On a thread of this process; PDF documents in a process of their own.
    Thread,
}

/// The settings of reading documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentSettings {
    /// Where documents are read.
    pub place: ReadingPlace,
    /// The limits of one reading.
    pub limits: ReadingLimits,
    /// Number of documents that are read at once, of all tenants.
    pub places: usize,
}

impl Default for DocumentSettings {
    fn default() -> Self {
        Self {
            place: ReadingPlace::OwnProcess,
            limits: ReadingLimits::default(),
            places: available_parallelism().map_or(2, usize::from).clamp(2, 4),
        }
    }
}

/// A pool that reads documents, a few at once.
#[derive(Debug)]
pub(crate) struct DocumentReaderPool {
    settings: DocumentSettings,
    places: Arc<Semaphore>,
    tenants: Mutex<HashMap<(TenantId, ReadingPurpose), Arc<Semaphore>>>,
}

/// The permission to read one document: a place of the tenant, and one of the process. It goes with the reading, which nobody can end on a
/// thread: who waits no longer must not let the next one begin.
type ReadingPermission = Arc<[OwnedSemaphorePermit; 2]>;

impl DocumentReaderPool {
    pub(crate) fn new(settings: DocumentSettings) -> Self {
        Self {
            settings,
            places: Arc::new(Semaphore::new(settings.places)),
            tenants: Mutex::default(),
        }
    }

    /// Reads the text of a contact's document, within `within`. It waits for those that are read before it.
    pub(crate) async fn read_text(
        &self,
        document: DocumentToRead<'_>,
        within: Duration,
    ) -> Result<ReadDocument, ReadingFailure> {
        let begun = Instant::now();
        let own = self.find_tenant_place(document.tenant, ReadingPurpose::Message);
        let waiting = async {
            let own = own.acquire_owned().await.map_err(|_| ReadingFailure::Busy)?;
            let place = Arc::clone(&self.places).acquire_owned().await;
            Ok::<_, ReadingFailure>(Arc::new([own, place.map_err(|_| ReadingFailure::Busy)?]))
        };
        let permission = timeout(within, waiting)
            .await
            .map_err(|_| ReadingFailure::Busy)??;
        let left = within.saturating_sub(begun.elapsed());
        let (bytes, task) = begin_task(document, ReadingPurpose::Message);
        let read = self.read_one_text(bytes, task, left, &permission).await?;
        Ok(ReadDocument {
            text: read.text,
            is_cut: read.is_cut,
        })
    }

    /// Reads a document of a business and splits it into blocks. It does not wait for another one of the same tenant.
    pub(crate) async fn split_into_blocks(
        &self,
        title: &str,
        document: DocumentToRead<'_>,
        settings: SplitSettings,
    ) -> Result<SplitDocument, ReadingFailure> {
        let own = self.find_tenant_place(document.tenant, ReadingPurpose::Knowledge);
        let own = own.try_acquire_owned().map_err(|_| ReadingFailure::Busy)?;
        let place = timeout(KNOWLEDGE_WAIT, Arc::clone(&self.places).acquire_owned()).await;
        let place = place.ok().and_then(Result::ok).ok_or(ReadingFailure::Busy)?;
        let permission = Arc::new([own, place]);
        let (bytes, task) = begin_task(document, ReadingPurpose::Knowledge);
        let (text, unread_pages) = match self.read_content(bytes, task, Duration::MAX, &permission).await? {
            ReadContent::Text(text) => (text, Vec::new()),
            ReadContent::Pages(pages) => match join_page_texts(&pages) {
                Ok(joined) => (cut_text(joined.markdown), joined.unread),
                Err(PdfFailure::NoText) => return Ok(SplitDocument::default()),
                Err(_) => return Err(TextGap::Unreadable.into()),
            },
        };
        let title = title.to_owned();
        let split = move || {
            let _until_split = permission;
            SplitDocument {
                is_cut: text.is_cut,
                unread_pages,
                ..analyze_document(&title, &text.text, settings)
            }
        };
        let split = tokio::task::spawn_blocking(split).await;
        split.map_err(|_| TextGap::Unreadable.into())
    }

    /// Returns the place in which documents of a tenant are read.
    fn find_tenant_place(&self, tenant: &TenantId, purpose: ReadingPurpose) -> Arc<Semaphore> {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if tenants.len() > TENANTS_KEPT {
            tenants.retain(|_, place| Arc::strong_count(place) > 1);
        }
        let place = tenants.entry((tenant.clone(), purpose));
        Arc::clone(place.or_insert_with(|| Arc::new(Semaphore::new(1))))
    }

    async fn read_one_text(
        &self,
        bytes: Vec<u8>,
        task: ReadingTask,
        left: Duration,
        permission: &ReadingPermission,
    ) -> Result<DocumentText, ReadingFailure> {
        match self.read_content(bytes, task, left, permission).await? {
            ReadContent::Text(text) => Ok(text),
            ReadContent::Pages(_) => Err(TextGap::OtherType.into()),
        }
    }

    /// Reads a document. A reading that is cut off by its own limits is so for good; one that is cut off since nobody waits longer than
    /// `left` may be repeated.
    async fn read_content(
        &self,
        bytes: Vec<u8>,
        task: ReadingTask,
        left: Duration,
        permission: &ReadingPermission,
    ) -> Result<ReadContent, ReadingFailure> {
        let limits = self.settings.limits;
        let own_limit = limits.clock_time();
        let media_type = task.media_type;
        let read = if self.settings.place == ReadingPlace::OwnProcess || media_type == MediaType::Pdf {
            read_in_process(&bytes, &task, limits, own_limit.min(left)).await
        } else {
            read_on_thread(bytes, task, own_limit.min(left), permission).await
        };
        match read {
            Ok(Ok(content)) => Ok(content),
            Ok(Err(error)) => Err(find_text_gap(error).into()),
            Err(ProcessFailure::TooSlow) if left < own_limit => Err(ReadingFailure::Failed(
                "the document was not read in the time that was left".to_owned(),
            )),
            Err(failure @ (ProcessFailure::NoProcess(_) | ProcessFailure::Stopped)) => {
                tracing::warn!(error = %failure, "a document was not read");
                Err(ReadingFailure::Failed(failure.to_string()))
            }
            Err(failure @ (ProcessFailure::TooSlow | ProcessFailure::BrokenOff)) => {
                tracing::warn!(error = %failure, kind = media_type.extension(), "a document cannot be read");
                Err(TextGap::Unreadable.into())
            }
        }
    }
}

fn begin_task(document: DocumentToRead<'_>, purpose: ReadingPurpose) -> (Vec<u8>, ReadingTask) {
    let task = ReadingTask {
        media_type: document.media_type,
        charset: document.charset,
        purpose,
    };
    (document.bytes, task)
}

/// Reads a document on a thread. A library that panics at a file ends the reading of that file only.
async fn read_on_thread(
    bytes: Vec<u8>,
    task: ReadingTask,
    within: Duration,
    permission: &ReadingPermission,
) -> Result<Result<ReadContent, DocumentError>, ProcessFailure> {
    let permission = Arc::clone(permission);
    let reading = tokio::task::spawn_blocking(move || {
        let _until_read = permission;
        read_document(&bytes, &task)
    });
    let read = timeout(within, reading).await;
    let read = read.map_err(|_| ProcessFailure::TooSlow)?;
    read.map_err(|_| ProcessFailure::BrokenOff)
}

/// Cuts the text of pages off at the limit.
fn cut_text(mut text: String) -> DocumentText {
    let chars = ReadingPurpose::Knowledge.limits().chars;
    let end = text.char_indices().nth(chars).map(|(end, _)| end);
    if let Some(end) = end {
        text.truncate(end);
    }
    DocumentText {
        text,
        is_cut: end.is_some(),
    }
}

fn find_text_gap(error: DocumentError) -> TextGap {
    match error {
        DocumentError::NoText | DocumentError::LeftOut => TextGap::OtherType,
        DocumentError::TooLarge => TextGap::TooLarge,
        DocumentError::Encrypted | DocumentError::Unreadable => TextGap::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(places: usize) -> DocumentReaderPool {
        DocumentReaderPool::new(DocumentSettings {
            place: ReadingPlace::Thread,
            places,
            ..DocumentSettings::default()
        })
    }

    fn tenant(name: &str) -> TenantId {
        TenantId::parse(name).unwrap()
    }

    fn table(tenant: &TenantId) -> DocumentToRead<'_> {
        DocumentToRead {
            tenant,
            bytes: b"dose;2 ml".to_vec(),
            media_type: MediaType::Csv,
            charset: None,
        }
    }

    const SOON: Duration = Duration::from_millis(50);
    const LATER: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_reading_that_does_not_end_holds_up_its_own_tenant_alone() {
        let (pool, slow, other) = (pool(2), tenant("slow"), tenant("other"));
        // What a reading that is stuck holds.
        let stuck = pool.find_tenant_place(&slow, ReadingPurpose::Message);
        let own = stuck.acquire_owned().await.unwrap();
        let place = Arc::clone(&pool.places).acquire_owned().await.unwrap();
        let refused = pool.read_text(table(&slow), SOON).await;
        assert_eq!(refused, Err(ReadingFailure::Busy));
        assert_eq!(
            pool.read_text(table(&other), LATER).await.unwrap().text,
            "dose;2 ml"
        );
        // Its knowledge has a place of its own.
        let settings = SplitSettings { characters_max: 500 };
        let split = pool.split_into_blocks("a", table(&slow), settings).await.unwrap();
        assert_eq!(split.blocks.len(), 1);
        drop((own, place));
        assert_eq!(
            pool.read_text(table(&slow), LATER).await.unwrap().text,
            "dose;2 ml"
        );
    }

    #[tokio::test]
    async fn a_document_of_a_business_does_not_wait_for_another_one_of_its_tenant() {
        let (pool, own) = (pool(2), tenant("own"));
        let settings = SplitSettings { characters_max: 500 };
        let stuck = pool.find_tenant_place(&own, ReadingPurpose::Knowledge);
        let held = stuck.acquire_owned().await.unwrap();
        let refused = pool.split_into_blocks("a", table(&own), settings).await;
        assert_eq!(refused, Err(ReadingFailure::Busy));
        drop(held);
        assert!(pool.split_into_blocks("a", table(&own), settings).await.is_ok());
    }

    #[tokio::test]
    async fn a_damaged_document_is_unreadable() {
        let own = tenant("own");
        let document = DocumentToRead {
            bytes: b"PK".to_vec(),
            media_type: MediaType::Docx,
            ..table(&own)
        };
        let refused = pool(1).read_text(document, LATER).await;
        assert_eq!(refused, Err(TextGap::Unreadable.into()));
    }

    #[test]
    fn a_reading_for_which_nobody_waits_longer_may_be_repeated() {
        // The only thread for readings does something else, so that this one does not end.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(1)
            .enable_time()
            .build()
            .unwrap();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        runtime.block_on(async {
            tokio::task::spawn_blocking(move || ended.recv());
            let (pool, own) = (pool(1), tenant("own"));
            let (bytes, task) = begin_task(table(&own), ReadingPurpose::Message);
            let permission = permit(&pool).await;
            let read = pool.read_content(bytes, task, SOON, &permission).await;
            assert!(matches!(read, Err(ReadingFailure::Failed(_))), "{read:?}");
        });
        drop(end);
    }

    async fn permit(pool: &DocumentReaderPool) -> ReadingPermission {
        let own = Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap();
        Arc::new([own, Arc::clone(&pool.places).acquire_owned().await.unwrap()])
    }

    #[test]
    fn tenants_for_which_nothing_is_read_are_forgotten() {
        let pool = pool(1);
        let held = pool.find_tenant_place(&tenant("held"), ReadingPurpose::Message);
        for number in 0..TENANTS_KEPT {
            pool.find_tenant_place(&tenant(&format!("t{number}")), ReadingPurpose::Message);
        }
        pool.find_tenant_place(&tenant("last"), ReadingPurpose::Message);
        assert_eq!(pool.tenants.lock().unwrap().len(), 2);
        drop(held);
    }
}
