//! LISTEN, UNLISTEN and NOTIFY in a session: see [`channels`](crate::engine::channels).

use crate::Notification;
use crate::engine::channels::{Channels, Ears, Mailbox, Place, Saying, check_channel};
use crate::session::answer::done;
use crate::session::core::SessionCore;
use crate::session::{Session, StatementResult};
use planaria_base::{CommitTs, Error, Result, SqlState};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

impl SessionCore {
    /// What `pg_backend_pid` answers.
    #[inline]
    pub(crate) fn process(&self) -> i32 {
        self.number.unwrap_or(i32::from(self.worker.0) + 1)
    }

    /// The outcome of a commit that has put there what it says: it is told when the commit is complete, and on disk.
    #[inline]
    pub(crate) fn told<E>(
        &mut self,
        outcome: Result<CommitTs, E>,
        began: Option<Place>,
        place: Option<Place>,
    ) -> Result<CommitTs, E> {
        let Some(began) = began else { return outcome };
        self.engine.channels.end_commit(began, place, outcome.is_ok());
        match (&outcome, place) {
            (Ok(_), Some((ts, _))) => self.tell(ts),
            // A transaction that only read. What others said may have waited for this one, too.
            (Ok(ts), None) => {
                self.speak(*ts);
                self.tell(*ts);
            }
            (Err(_), _) => self.tell(self.engine.clock.now()),
        }
        outcome
    }

    /// Says what a transaction that is over, as of some time, has to say.
    #[inline]
    pub(crate) fn speak(&mut self, ts: CommitTs) {
        if !self.said.is_empty() {
            let process = self.process();
            let place = self.engine.channels.put_in_line(ts, process, &mut self.said, &mut self.ears);
            place.into_iter().for_each(|(ts, _)| self.tell(ts));
        }
    }

    /// Those that listen are told of what is said up to a commit, when that is on disk.
    fn tell(&self, ts: CommitTs) {
        let channels = self.engine.channels.clone();
        match &self.session_log {
            Some(log) if self.engine.waits_for_disk => {
                let log = log.0.clone();
                let deliver = {
                    let log = log.clone();
                    move |on_disk: Result<()>| {
                        if on_disk.is_ok() {
                            channels.deliver(Some(log.durable_epoch()));
                        }
                    }
                };
                log.on_durable(ts.epoch(), deliver);
            }
            _ => channels.deliver(None),
        }
    }

    /// LISTEN: from the end of the transaction on.
    pub(crate) fn listen(&mut self, channel: &str) -> Result<StatementResult> {
        check_channel(channel)?;
        self.say(Saying::Listen(channel.to_owned()));
        Ok(done("LISTEN"))
    }

    /// UNLISTEN
    pub(crate) fn unlisten(&mut self, channel: Option<&str>) -> StatementResult {
        self.say(Saying::Unlisten(channel.map(str::to_owned)));
        done("UNLISTEN")
    }

    fn say(&mut self, saying: Saying) {
        self.said.push(saying);
        if !self.is_in_block() {
            self.speak(self.engine.clock.now());
        }
    }
}

impl Session {
    /// The channels that the session listens to, in the order in which it began.
    pub fn channels(&self) -> &[String] {
        self.api.ears.channels()
    }

    /// Listens to no channel any more, as `UNLISTEN *` outside of transactions. What came and was not read is gone.
    pub fn unlisten(&mut self) {
        self.api.ears = Ears::default();
    }

    /// The next notification of a channel that the session listens to (`LISTEN`), if one has come. In a transaction block none
    /// comes, as in PostgreSQL: they are there when it is over.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// let mut worker = db.session()?;
    /// worker.execute("LISTEN jobs", ())?;
    /// db.execute("NOTIFY jobs, '17'", ())?;
    /// let job = worker.notification().expect("it has come");
    /// assert_eq!((job.channel.as_str(), job.payload.as_str()), ("jobs", "17"));
    /// assert_eq!(worker.notification(), None);
    /// # Ok(()) }
    /// ```
    pub fn notification(&mut self) -> Option<Notification> {
        if self.in_transaction() { None } else { self.api.inbox()?.take() }
    }

    /// The next notification, waiting for it at most so long. `None` where none came, the session listens to no channel, or a
    /// transaction block is open.
    pub fn wait_for_notification(&mut self, timeout: Duration) -> Option<Notification> {
        if self.in_transaction() { None } else { self.api.inbox()?.wait(Some(timeout)) }
    }
}

/// Hears what is said on channels (`NOTIFY`), without a session: see [`Database::listen`].
///
/// ```
/// # fn main() -> planaria::Result<()> {
/// let db = planaria::Database::in_memory()?;
/// let listener = db.listen(["orders"])?;
/// db.execute_script(
///     "CREATE TABLE orders (id int PRIMARY KEY);
///      CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
///      BEGIN PERFORM pg_notify('orders', new.id::text); RETURN NULL; END $$;
///      CREATE TRIGGER tell AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION tell()",
/// )?;
/// db.execute("INSERT INTO orders VALUES (1), (2)", ())?;
/// assert_eq!(listener.recv().map(|n| n.payload).as_deref(), Some("1"));
/// assert_eq!(listener.try_recv().map(|n| n.payload).as_deref(), Some("2"));
/// assert_eq!(listener.try_recv(), None);
/// # Ok(()) }
/// ```
pub struct Listener {
    /// The channels are left when it is dropped.
    _ears: Ears,
    mailbox: Arc<Mailbox>,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("channels", &self._ears.channels()).finish()
    }
}

impl Listener {
    pub(crate) fn new<'c>(
        home: &Arc<Channels>,
        channels: impl IntoIterator<Item = &'c str>,
    ) -> Result<Listener> {
        let mut ears = Ears::default();
        for channel in channels {
            home.listen(channel, &mut ears)?;
        }
        let Some(mailbox) = ears.mailbox().cloned() else {
            let message = "there is no channel to listen to";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        };
        Ok(Listener { _ears: ears, mailbox })
    }

    /// The next notification; waits for it. `None`: the database was closed.
    pub fn recv(&self) -> Option<Notification> {
        self.mailbox.wait(None)
    }

    /// The same, waiting at most so long.
    pub fn recv_timeout(&self, timeout: Duration) -> Option<Notification> {
        self.mailbox.wait(Some(timeout))
    }

    /// The next notification, if it has come.
    pub fn try_recv(&self) -> Option<Notification> {
        self.mailbox.take()
    }

    /// The same for a future: where none has come, the one that asked last is woken when one does.
    pub fn poll_recv(&self, context: &mut Context<'_>) -> Poll<Option<Notification>> {
        self.mailbox.poll(context.waker())
    }

    /// The next notification; awaits it.
    pub async fn next(&self) -> Option<Notification> {
        std::future::poll_fn(|context| self.poll_recv(context)).await
    }
}
