//! Vectors of queries, which one machine asks for and another one computes.

use std::time::Duration;

use tokio_postgres::Row;

use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::id::QuestionId;
use crate::journal::Journal;
use crate::limits::{MODEL_BYTES_MAX, QUESTION_BYTES_MAX, VECTOR_BYTES_MAX};
use crate::link::Link;
use crate::sql::column;

/// The pauses between two looks for an answer double from the first to the last.
const PAUSE_FIRST: Duration = Duration::from_millis(2);
const PAUSE_LAST: Duration = Duration::from_millis(50);
/// How often a machine looks for questions if notifications arrive, and if not, as behind PgBouncer.
const LOOK_NOTIFIED: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(250);
/// Nobody waits that long for an answer.
const OLD: &str = "interval '1 minute'";
/// How many questions are answered at once.
const QUESTIONS: i64 = 16;

/// An embedding model, as the machine that has it names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// Its name; at most 128 bytes.
    pub name: String,
    /// Its fingerprint; 1 to 128 bytes.
    pub fingerprint: Vec<u8>,
}

/// The vector of a query, and who computed it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The model of the machine that answered.
    pub model: EmbeddingModel,
    /// The vector.
    pub vector: Vec<u8>,
}

/// The connection of a machine that answers questions.
#[derive(Debug, Default)]
pub struct Answering {
    link: Option<Link>,
    is_notified: bool,
}

/// Computes the vectors of queries.
pub type Answerer<'a> = dyn FnMut(&[&str]) -> Result<Vec<Vec<u8>>, String> + 'a;

/// What a crash of the server takes from it is asked again.
const ASK: &str = "INSERT INTO {schema}.question (store, id, model, text, asked) \
     SELECT $1, gen_random_uuid(), $2, $3, clock_timestamp() \
     WHERE set_config('synchronous_commit', 'off', true) = 'off' RETURNING id";

const LOOK_AT: &str = "SELECT vector, name, answered_by FROM {schema}.question \
     WHERE store = $1 AND id = $2 AND vector IS NOT NULL";

const REMOVE: &str = "DELETE FROM {schema}.question WHERE store = $1 AND id = $2 \
     AND set_config('synchronous_commit', 'off', true) = 'off'";

const OPEN: &str = "SELECT id, text FROM {schema}.question \
     WHERE store = $1 AND vector IS NULL AND (model IS NULL OR model = $2) \
     AND asked > clock_timestamp() - {old} ORDER BY asked LIMIT $3";

const ANSWER: &str = "UPDATE {schema}.question AS it \
     SET vector = given.vector, name = $2, answered_by = $3 \
     FROM unnest($4::uuid[], $5::bytea[]) AS given (id, vector) \
     WHERE it.store = $1 AND it.id = given.id AND it.vector IS NULL \
     AND set_config('synchronous_commit', 'off', true) = 'off'";

const TIDY: &str = "DELETE FROM {schema}.question \
     WHERE store = $1 AND asked < clock_timestamp() - {old} \
     AND set_config('synchronous_commit', 'off', true) = 'off'";

impl Journal {
    /// Asks the machines that [answer](Self::answer) for the vector of a query, by the model with
    /// this fingerprint, or by any. `None` if none has answered before the deadline.
    ///
    /// The text is in the database until then, for a minute at most if the caller ends.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the text has more than [`QUESTION_BYTES_MAX`] bytes, or a NUL;
    /// otherwise if the database cannot be reached.
    pub fn ask(&self, model: Option<&[u8]>, text: &str, until: &Until) -> Result<Option<Answer>> {
        if text.len() > QUESTION_BYTES_MAX || text.contains('\0') {
            return Err(Error::Invalid(format!(
                "a query has at most {QUESTION_BYTES_MAX} bytes, none of them NUL, not {}",
                text.len()
            )));
        }
        let mut link = self.link(until)?;
        let rows = link.query(ASK, &[&self.store, &model, &text], until)?;
        let row = rows.first().ok_or_else(|| Error::Answer("no id of a question".to_owned()))?;
        let id: QuestionId = column(row, 0)?;
        if self.settings.notify {
            link.post(&format!("SELECT pg_notify('{}', '')", self.questions()));
        }
        let answer = self.await_answer(&mut link, id, until);
        let removed = link.execute(REMOVE, &[&self.store, &id], &until.at_least(LOOK));
        let answer = answer?;
        removed?;
        self.put_back(link);
        Ok(answer)
    }

    fn await_answer(
        &self,
        link: &mut Link,
        id: QuestionId,
        until: &Until,
    ) -> Result<Option<Answer>> {
        let mut pause = PAUSE_FIRST;
        loop {
            until.pause(pause);
            let rows = link.query(LOOK_AT, &[&self.store, &id], &until.at_least(LOOK))?;
            if let Some(row) = rows.first() {
                return answer(row).map(Some);
            }
            if until.is_over() {
                return Ok(None);
            }
            pause = PAUSE_LAST.min(2 * pause);
        }
    }

    /// Waits for questions, until the deadline at the latest, and answers some. Returns how many.
    /// Texts that cannot be embedded get no answer.
    ///
    /// An idle machine looks 720 times per hour, or 14,400 times as long as no notification has
    /// arrived.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name or fingerprint that is too long; otherwise if the connection
    /// ends: the next call connects again.
    pub fn answer(
        &self,
        answering: &mut Answering,
        model: &EmbeddingModel,
        answerer: &mut Answerer<'_>,
        until: &Until,
    ) -> Result<u64> {
        let is_name = model.name.len() <= MODEL_BYTES_MAX && !model.name.contains('\0');
        if !is_name || !(1..=MODEL_BYTES_MAX).contains(&model.fingerprint.len()) {
            return Err(Error::Invalid(format!(
                "the name and the fingerprint of a model have at most {MODEL_BYTES_MAX} bytes"
            )));
        }
        let answered = self.answer_with(answering, model, answerer, until);
        if answered.is_err() {
            *answering = Answering::default();
        }
        answered
    }

    fn answer_with(
        &self,
        answering: &mut Answering,
        model: &EmbeddingModel,
        answerer: &mut Answerer<'_>,
        until: &Until,
    ) -> Result<u64> {
        let link = match answering.link.take() {
            Some(link) => link,
            None => self.listening_to(&self.questions(), until)?,
        };
        let link = answering.link.insert(link);
        loop {
            let answered = self.answer_open(link, model, answerer, until)?;
            if answered > 0 || until.is_over() {
                return Ok(answered);
            }
            let look = if answering.is_notified { LOOK_NOTIFIED } else { LOOK };
            link.listen(&until.at_most(look))?;
            answering.is_notified |= !link.take_notifications().is_empty();
        }
    }

    fn answer_open(
        &self,
        link: &mut Link,
        model: &EmbeddingModel,
        answerer: &mut Answerer<'_>,
        until: &Until,
    ) -> Result<u64> {
        let until = until.at_least(Duration::from_secs(1));
        let tidy = TIDY.replace("{old}", OLD);
        let sql = OPEN.replace("{old}", OLD);
        let rows = link.query(&sql, &[&self.store, &model.fingerprint, &QUESTIONS], &until)?;
        if rows.is_empty() {
            return Ok(0);
        }
        let mut ids: Vec<QuestionId> = Vec::with_capacity(rows.len());
        let mut texts: Vec<&str> = Vec::with_capacity(rows.len());
        for row in &rows {
            ids.push(column(row, 0)?);
            texts.push(column(row, 1)?);
        }
        let vectors = answerer(&texts).unwrap_or_default();
        let is_wrong = |it: &Vec<u8>| it.len() > VECTOR_BYTES_MAX;
        if vectors.len() != ids.len() || vectors.iter().any(is_wrong) {
            // They are not asked again before they are old.
            link.execute(&tidy, &[&self.store], &until)?;
            until.pause(LOOK);
            return Ok(0);
        }
        let vectors: Vec<&[u8]> = vectors.iter().map(Vec::as_slice).collect();
        let answered = link.execute(
            ANSWER,
            &[&self.store, &model.name, &model.fingerprint, &ids, &vectors],
            &until,
        )?;
        link.execute(&tidy, &[&self.store], &until)?;
        Ok(answered)
    }

    fn questions(&self) -> String {
        format!("{}_questions", self.channel())
    }
}

fn answer(row: &Row) -> Result<Answer> {
    let model =
        EmbeddingModel { name: column(row, 1)?, fingerprint: column::<&[u8]>(row, 2)?.to_vec() };
    Ok(Answer { model, vector: column::<&[u8]>(row, 0)?.to_vec() })
}
