use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item, number, text};
use super::keys::{DEAD, Key};
use super::lists::{self, Place};
use super::table::Query;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::ids::InstanceId;
use recado_pipeline::ports::{Ambient, DeadLetterFilter, DeadLetters, Page, PageRequest, PortResult};

/// A dead letter's record; it lies in the index of lists by when it died.
fn record(what: &'static str, letter: &DeadLetter) -> PortResult<Item> {
    let mut item = item::write(what, letter)?;
    item.insert("list_key".to_owned(), text(DEAD));
    item.insert("list_at".to_owned(), number(letter.at.as_millisecond()));
    Ok(Key::dead_letter(&letter.id).into_item(item))
}

fn matches(filter: &DeadLetterFilter, letter: &DeadLetter) -> bool {
    filter.queue.is_none_or(|queue| queue == letter.queue)
        && filter.reason.is_none_or(|reason| reason == letter.reason)
        && filter
            .instance
            .as_ref()
            .is_none_or(|instance| Some(instance) == letter.instance.as_ref())
}

impl<A: Ambient> DeadLetters for DynamoStore<A> {
    async fn put_dead_letter(&self, letter: &DeadLetter) -> PortResult<()> {
        const WHAT: &str = "keeping a dead letter";
        let _kept = self.table.put(WHAT, record(WHAT, letter)?, None).await?;
        Ok(())
    }

    async fn dead_letter(&self, id: &str) -> PortResult<Option<DeadLetter>> {
        const WHAT: &str = "reading a dead letter";
        let found = self.table.get(WHAT, Key::dead_letter(id)).await?;
        found.map(|item| item::read(WHAT, &item)).transpose()
    }

    async fn remove_dead_letter(&self, id: &str) -> PortResult<bool> {
        let removed = self
            .table
            .delete("removing a dead letter", Key::dead_letter(id), None)
            .await?;
        Ok(removed.is_ok_and(|found| found.is_some()))
    }

    async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        page: &PageRequest,
    ) -> PortResult<Page<DeadLetter>> {
        const WHAT: &str = "listing dead letters";
        let wanted = |item: &Item| {
            let letter: DeadLetter = item::read(WHAT, item)?;
            let place = Place::new(letter.at.as_millisecond(), letter.id.clone());
            Ok(matches(filter, &letter).then_some((place, letter)))
        };
        let found = self.listed(WHAT, DEAD.to_owned(), page, wanted).await?;
        Ok(lists::page(found, page.limit.max(1)))
    }

    async fn count_dead_letters(&self, instance: Option<&InstanceId>) -> PortResult<u64> {
        let keys = Expression::new("#list_key = :key").text(":key", DEAD);
        let filter =
            instance.map(|id| Expression::new("#instance = :instance").text(":instance", id.as_str()));
        let query = Query {
            index: Some("lists"),
            keys,
            reverse: true,
            limit: None,
        };
        self.table.count("counting dead letters", &query, filter).await
    }
}
