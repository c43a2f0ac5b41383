//! Web pages go into the knowledge of an agent, as many as a request has time for.

use crate::world::{Setup, Time};
use recado_domain::access::Caller;
use recado_domain::ids::AgentId;
use recado_knowledge::{PageOutcome, SourceOutcome, add_pages, search_knowledge};
use recado_pipeline::ports::{FetchedDocument, PageFailure};
use recado_testkit::builders::Fixture;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The pages that can be fetched.
#[derive(Debug, Default)]
pub(crate) struct WebPages {
    texts: Mutex<BTreeMap<String, String>>,
    /// The clock, and the milliseconds that each fetch takes.
    takes: Mutex<Option<(Time, i64)>>,
    /// Whether each fetch was allowed to ask private hosts.
    private_hosts: Mutex<Vec<bool>>,
}

impl WebPages {
    pub(crate) fn fetch(&self, url: &str, private_hosts: bool) -> Result<FetchedDocument, PageFailure> {
        self.private_hosts.lock().unwrap().push(private_hosts);
        if let Some((time, milliseconds)) = &*self.takes.lock().unwrap() {
            time.pass(*milliseconds);
        }
        let texts = self.texts.lock().unwrap();
        let text = texts
            .get(url)
            .ok_or_else(|| PageFailure("no such page".to_owned()))?;
        Ok(FetchedDocument {
            bytes: text.clone().into_bytes(),
            content_type: Some("text/html".to_owned()),
        })
    }

    fn set_text(&self, url: &str, text: &str) {
        self.texts.lock().unwrap().insert(url.to_owned(), text.to_owned());
    }
}

async fn begin(pages: usize) -> (Setup, AgentId, Vec<String>) {
    let fixture = Fixture::new();
    let agent = fixture.bound.agent.id.clone();
    let setup = Setup::set(fixture).await;
    let urls: Vec<String> = (1..=pages)
        .map(|page| format!("https://a.example/{page}"))
        .collect();
    for url in &urls {
        setup
            .world
            .llm
            .pages
            .set_text(url, &format!("# Page\nThis is {url}."));
    }
    (setup, agent, urls)
}

async fn add(setup: &Setup, agent: &AgentId, urls: &[String]) -> Vec<PageOutcome> {
    add_pages(&setup.world, &Caller::installation(), agent, urls)
        .await
        .unwrap()
}

/// What became of each page: its outcome, or the reason in words.
fn list_outcomes(outcomes: &[PageOutcome]) -> Vec<Result<SourceOutcome, String>> {
    let outcome = |outcome: &PageOutcome| match &outcome.added {
        Ok(added) => Ok(added.outcome),
        Err(refusal) => Err(refusal.to_string()),
    };
    outcomes.iter().map(outcome).collect()
}

#[tokio::test]
async fn pages_go_in_under_their_urls_once_and_one_that_is_not_there_is_told() {
    let (setup, agent, mut urls) = begin(2).await;
    urls.insert(1, "https://a.example/absent".to_owned());
    urls.push(format!(" {} ", urls[0]));
    let first = add(&setup, &agent, &urls).await;
    let absent = || Err("no such page".to_owned());
    assert_eq!(
        list_outcomes(&first),
        [Ok(SourceOutcome::Added), absent(), Ok(SourceOutcome::Added)]
    );
    let title = |outcome: &PageOutcome| outcome.added.as_ref().unwrap().source.title.clone();
    assert_eq!(title(&first[2]), urls[2]);
    setup
        .world
        .llm
        .pages
        .set_text(&urls[2], "# Page\nThe vaccine costs 90 euros.");
    let again = add(&setup, &agent, &urls).await;
    assert_eq!(
        list_outcomes(&again),
        [
            Ok(SourceOutcome::Unchanged),
            absent(),
            Ok(SourceOutcome::Replaced)
        ]
    );
    let found = search_knowledge(&setup.world, &Caller::installation(), &agent, "vaccine", 5).await;
    assert_eq!(found.unwrap().blocks[0].text, "The vaccine costs 90 euros.");
}

#[tokio::test]
async fn private_hosts_are_asked_only_where_a_setting_allows_it() {
    let (mut setup, agent, urls) = begin(1).await;
    add(&setup, &agent, &urls).await;
    setup.world.deps_mut().settings_mut().private_pages = true;
    add(&setup, &agent, &urls).await;
    assert_eq!(
        *setup.world.llm.pages.private_hosts.lock().unwrap(),
        [false, true]
    );
}

#[tokio::test]
async fn what_a_request_has_no_time_for_is_told_and_the_same_request_adds_it() {
    let (setup, agent, urls) = begin(4).await;
    let pages = &setup.world.llm.pages;
    // Two fetches take the time for all of them.
    *pages.takes.lock().unwrap() = Some((setup.world.system.clone(), 6_000));
    let late = || Err("there was no time left for this page: ask for it again".to_owned());
    let first = add(&setup, &agent, &urls).await;
    let added: Result<_, String> = Ok(SourceOutcome::Added);
    assert_eq!(
        list_outcomes(&first),
        [added.clone(), added.clone(), late(), late()]
    );
    // One that was fetched too late is not begun.
    *pages.takes.lock().unwrap() = Some((setup.world.system.clone(), 14_000));
    assert_eq!(
        list_outcomes(&add(&setup, &agent, &urls[2..]).await),
        [late(), late()]
    );
    *pages.takes.lock().unwrap() = None;
    let same: Result<_, String> = Ok(SourceOutcome::Unchanged);
    assert_eq!(
        list_outcomes(&add(&setup, &agent, &urls).await),
        [same.clone(), same, added.clone(), added]
    );
}
