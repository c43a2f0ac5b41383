use crate::Embedded;
use crate::fault::Fault;
use crate::record::{Newest, count, encode, execute, one};
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, Deletion, QueueName};
use recado_domain::ids::InstanceId;
use recado_domain::reason::Reason;
use recado_pipeline::ports::{DeadLetterFilter, DeadLetters, Page, PageRequest, PortResult};
use rusqlite::{Connection, params};

fn put(connection: &Connection, letter: &DeadLetter) -> Result<(), Fault> {
    let sql = "INSERT INTO dead_letters (id, queue, reason, instance, at, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (id) DO UPDATE SET queue = excluded.queue, reason = excluded.reason, instance = excluded.instance,
        at = excluded.at, body = excluded.body WHERE excluded.at >= at";
    let instance = letter.instance.as_ref().map(InstanceId::as_str);
    let (queue, reason, at) = (
        letter.queue.as_str(),
        letter.reason.as_str(),
        letter.at.as_millisecond(),
    );
    execute(
        connection,
        sql,
        params![letter.id, queue, reason, instance, at, encode(letter)?],
    )?;
    Ok(())
}

fn remove(connection: &Connection, id: &str, died: Timestamp) -> Result<bool, Fault> {
    let sql = "DELETE FROM dead_letters WHERE id = ?1 AND at = ?2";
    Ok(execute(connection, sql, params![id, died.as_millisecond()])? > 0)
}

fn delete(connection: &Connection, deletion: &Deletion) -> Result<bool, Fault> {
    if !remove(connection, &deletion.letter, deletion.died)? {
        return Ok(false);
    }
    let sql = "INSERT OR REPLACE INTO dead_letter_deletions (id, at, body) VALUES (?1, ?2, ?3)";
    let id = format!("{}@{}", deletion.letter, deletion.died.as_millisecond());
    execute(
        connection,
        sql,
        params![id, deletion.at.as_millisecond(), encode(deletion)?],
    )?;
    Ok(true)
}

fn count_of(connection: &Connection, instance: Option<&InstanceId>) -> Result<u64, Fault> {
    let all = "SELECT COUNT(*) FROM dead_letters";
    let found: i64 = match instance {
        None => connection.prepare_cached(all)?.query_row([], |row| row.get(0))?,
        Some(id) => connection
            .prepare_cached("SELECT COUNT(*) FROM dead_letters WHERE instance = ?1")?
            .query_row([id.as_str()], |row| row.get(0))?,
    };
    Ok(count(found))
}

impl DeadLetters for Embedded {
    async fn put_dead_letter(&self, letter: &DeadLetter) -> PortResult<()> {
        let letter = letter.clone();
        self.write("put_dead_letter", move |c| put(c, &letter)).await
    }

    async fn dead_letter(&self, id: &str) -> PortResult<Option<DeadLetter>> {
        let id = id.to_owned();
        self.read("dead_letter", move |c| {
            one(c, "SELECT body FROM dead_letters WHERE id = ?1", [id])
        })
        .await
    }

    async fn remove_dead_letter(&self, id: &str, died: Timestamp) -> PortResult<bool> {
        let id = id.to_owned();
        self.write("remove_dead_letter", move |c| remove(c, &id, died))
            .await
    }

    async fn delete_dead_letter(&self, deletion: &Deletion) -> PortResult<bool> {
        let deletion = deletion.clone();
        self.write("delete_dead_letter", move |c| delete(c, &deletion))
            .await
    }

    async fn deletions(&self, page: &PageRequest) -> PortResult<Page<Deletion>> {
        let page = page.clone();
        self.read("deletions", move |c| {
            Newest::of("dead_letter_deletions", "at", &page)?.page(c)
        })
        .await
    }

    async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        page: &PageRequest,
    ) -> PortResult<Page<DeadLetter>> {
        let (filter, page) = (filter.clone(), page.clone());
        let work = move |c: &Connection| {
            Newest::of("dead_letters", "at", &page)?
                .only("instance", filter.instance.as_ref().map(InstanceId::as_str))
                .only("queue", filter.queue.map(QueueName::as_str))
                .only("reason", filter.reason.map(Reason::as_str))
                .between(filter.since, filter.until)
                .page(c)
        };
        self.read("dead_letters", work).await
    }

    async fn count_dead_letters(&self, instance: Option<&InstanceId>) -> PortResult<u64> {
        let instance = instance.cloned();
        self.read("count_dead_letters", move |c| count_of(c, instance.as_ref()))
            .await
    }
}
