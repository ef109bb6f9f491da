//! LISTEN and NOTIFY: who listens to which channel, and what is to be told.
//!
//! 1. What a transaction says is kept with its session ([`Said`]) until it commits; what is rolled back, or tried again,
//!    is forgotten.
//! 2. As it commits, it is put in the line here by its commit timestamp ([`Channels::put_in_line`]). So those that come after it in
//!    the serial order stand behind it; and they wait for commits that are under way and may come before them.
//! 3. From there it goes to the [mailboxes](Mailbox) of those that listen once the commit is complete, and on disk where commits
//!    wait for that ([`Channels::deliver`]): nobody is told of what a crash could take back.
//!
//! Nothing of it is logged: a notification is for those that listen now.

use planaria_base::sync::{Condvar, Instant, Mutex};
use planaria_base::{CommitTs, Epoch, Error, Result, SqlState};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Bytes of a channel's name, and of what is said on it, as in PostgreSQL.
const CHANNEL_MAX: usize = 63;
const PAYLOAD_MAX: usize = 7999;
/// What waits for one listener at most.
const MAILBOX_BYTES: usize = 64 << 20;

/// What was said on a channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notification {
    /// The channel.
    pub channel: String,
    /// What was said; empty where nothing was.
    pub payload: String,
    /// What `pg_backend_pid()` answers to the session that said it.
    pub process: i32,
}

impl Notification {
    fn bytes(&self) -> usize {
        size_of::<Notification>() + self.channel.len() + self.payload.len()
    }
}

/// What came for one listener.
#[derive(Default)]
pub(crate) struct Mailbox {
    inbox: Mutex<Inbox>,
    came: Condvar,
}

#[derive(Default)]
struct Inbox {
    came: VecDeque<Notification>,
    bytes: usize,
    /// Who is to be woken by the next.
    waker: Option<Waker>,
    /// The database is closed: nothing comes any more.
    closed: bool,
}

impl Mailbox {
    /// Answers with who is to be woken.
    fn put(&self, notification: Notification) -> Option<Waker> {
        let mut inbox = self.inbox.lock();
        inbox.bytes += notification.bytes();
        inbox.came.push_back(notification);
        let waker = inbox.waker.take();
        drop(inbox);
        self.came.notify_all();
        waker
    }

    /// The next, if there is one.
    pub(crate) fn take(&self) -> Option<Notification> {
        let mut inbox = self.inbox.lock();
        let next = inbox.came.pop_front()?;
        inbox.bytes -= next.bytes();
        Some(next)
    }

    /// The next, that comes within some time; `None` where none did, or the database is closed.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> Option<Notification> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut inbox = self.inbox.lock();
        loop {
            if let Some(next) = inbox.came.pop_front() {
                inbox.bytes -= next.bytes();
                return Some(next);
            }
            if inbox.closed {
                return None;
            }
            match deadline {
                None => self.came.wait(&mut inbox),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return None;
                    }
                    self.came.wait_for(&mut inbox, left);
                }
            }
        }
    }

    /// The next; `None` where the database is closed; or pending, and who is to be woken when it comes.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Option<Notification>> {
        let mut inbox = self.inbox.lock();
        match inbox.came.pop_front() {
            Some(next) => {
                inbox.bytes -= next.bytes();
                Poll::Ready(Some(next))
            }
            None if inbox.closed => Poll::Ready(None),
            None => {
                inbox.waker = Some(waker.clone());
                Poll::Pending
            }
        }
    }

    fn close(&self) -> Option<Waker> {
        let mut inbox = self.inbox.lock();
        inbox.closed = true;
        let waker = inbox.waker.take();
        drop(inbox);
        self.came.notify_all();
        waker
    }

    fn bytes(&self) -> usize {
        self.inbox.lock().bytes
    }
}

/// What a transaction has to say, or to hear.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Saying {
    Notify {
        channel: String,
        payload: String,
    },
    Listen(String),
    /// All of them without a name.
    Unlisten(Option<String>),
}

/// What the open transaction of a session has said.
#[derive(Default)]
pub(crate) struct Said {
    said: Vec<Saying>,
    /// Of these, by the statements before.
    before: usize,
}

impl Said {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    pub(crate) fn push(&mut self, saying: Saying) {
        self.said.push(saying);
    }

    /// How much has been said.
    #[inline]
    pub(crate) fn mark(&self) -> usize {
        self.said.len()
    }

    /// A statement begins.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.before = self.said.len();
    }

    /// The statement is going to run again.
    #[inline]
    pub(crate) fn take_back(&mut self) {
        self.said.truncate(self.before);
    }

    /// Forgets what was said since.
    #[inline]
    pub(crate) fn back_to(&mut self, mark: usize) {
        self.said.truncate(mark);
        self.before = self.before.min(mark);
    }

    /// All of it, each notification once.
    fn take(&mut self) -> Vec<Saying> {
        self.before = 0;
        let mut seen = HashSet::new();
        let mut said = std::mem::take(&mut self.said);
        said.retain(|saying| !matches!(saying, Saying::Notify { .. }) || seen.insert(saying.clone()));
        said
    }
}

/// What a session, or somebody else, hears. It hears nothing any more when it is dropped.
#[derive(Default)]
pub(crate) struct Ears(Option<Hearing>);

struct Hearing {
    home: Arc<Channels>,
    mailbox: Arc<Mailbox>,
    channels: Vec<String>,
}

impl Ears {
    pub(crate) fn mailbox(&self) -> Option<&Arc<Mailbox>> {
        Some(&self.0.as_ref()?.mailbox)
    }

    /// The channels, in the order in which it began to listen.
    pub(crate) fn channels(&self) -> &[String] {
        self.0.as_ref().map_or(&[], |hearing| &hearing.channels)
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        let home = self.home.clone();
        let mut state = home.state.lock();
        state.unlisten(None, self);
        home.count(&state);
    }
}

/// Place in the line: by commit, then as they came.
pub(crate) type Place = (CommitTs, u64);

#[derive(Default)]
struct State {
    listeners: HashMap<String, Vec<Arc<Mailbox>>>,
    line: BTreeMap<Place, Vec<Notification>>,
    /// Commits under way of those that have something to say, by a time that theirs is not before. What comes after it waits: the
    /// protocol may let others go on before it says where a commit stands.
    under_way: BTreeSet<Place>,
    came: u64,
    closed: bool,
}

/// See the module's head.
#[derive(Default)]
pub(crate) struct Channels {
    state: Mutex<State>,
    /// Channels that somebody listens to.
    listened: AtomicUsize,
}

impl Channels {
    /// What of it can be said: 22023 for a name or payload that is none, 54000 where a listener has not read so much that it
    /// would get no more.
    pub(crate) fn check(&self, channel: &str, payload: &str) -> Result<()> {
        check_channel(channel)?;
        if payload.len() > PAYLOAD_MAX {
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "payload string too long"));
        }
        if self.listened.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let listeners = self.state.lock().listeners.get(channel).cloned().unwrap_or_default();
        if listeners.iter().any(|mailbox| mailbox.bytes() > MAILBOX_BYTES) {
            return Err(Error::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                "too many notifications in the NOTIFY queue",
            )
            .with_detail(format!("A session that listens to \"{channel}\" does not read its notifications."))
            .with_hint("Find the session that stays in a transaction in pg_stat_activity, and end it."));
        }
        Ok(())
    }

    /// How full the fullest mailbox is.
    pub(crate) fn usage(&self) -> f64 {
        let state = self.state.lock();
        let fullest = state.listeners.values().flatten().map(|mailbox| mailbox.bytes()).max();
        fullest.unwrap_or(0) as f64 / MAILBOX_BYTES as f64
    }

    /// Puts what a transaction has said in the line; `None`: there is nothing to be told. It is inside its commit, or alone.
    pub(crate) fn put_in_line(
        self: &Arc<Self>,
        ts: CommitTs,
        process: i32,
        said: &mut Said,
        ears: &mut Ears,
    ) -> Option<Place> {
        let said = said.take();
        let mut notifications = Vec::new();
        let mut state = self.state.lock();
        for saying in said {
            match saying {
                Saying::Notify { channel, payload } => {
                    notifications.push(Notification { channel, payload, process });
                }
                Saying::Listen(channel) => state.listen(self, channel, ears),
                Saying::Unlisten(channel) => {
                    if let Some(hearing) = &mut ears.0 {
                        state.unlisten(channel.as_deref(), hearing);
                    }
                }
            }
        }
        self.count(&state);
        if notifications.is_empty() || state.listeners.is_empty() {
            return None;
        }
        state.came += 1;
        let place = (ts, state.came);
        state.line.insert(place, notifications);
        Some(place)
    }

    /// A transaction that has something to say is about to commit.
    pub(crate) fn begin_commit(&self, now: CommitTs) -> Place {
        let mut state = self.state.lock();
        state.came += 1;
        let place = (now, state.came);
        state.under_way.insert(place);
        place
    }

    /// It has, or its commit came to nothing and so does what stands in the line.
    pub(crate) fn end_commit(&self, began: Place, in_line: Option<Place>, committed: bool) {
        let mut state = self.state.lock();
        state.under_way.remove(&began);
        if let Some(place) = in_line.filter(|_| !committed) {
            state.line.remove(&place);
        }
    }

    /// Gives to those that listen what was said up to the end of an epoch; without one, all of it.
    pub(crate) fn deliver(&self, durable: Option<Epoch>) {
        // Those who are woken may do anything, such as to listen no more: not while the list is locked.
        let mut wakers = Vec::new();
        // One after the other, so that all hear the same order.
        let mut state = self.state.lock();
        let under_way = state.under_way.first().map(|(from, _)| *from);
        while let Some(first) = state.line.first_entry() {
            let (ts, _) = *first.key();
            if under_way.is_some_and(|from| ts >= from) || durable.is_some_and(|durable| ts.epoch() > durable)
            {
                break;
            }
            for notification in first.remove() {
                for mailbox in state.listeners.get(&notification.channel).into_iter().flatten() {
                    wakers.extend(mailbox.put(notification.clone()));
                }
            }
        }
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Listens to a channel, outside of any transaction.
    pub(crate) fn listen(self: &Arc<Self>, channel: &str, ears: &mut Ears) -> Result<()> {
        check_channel(channel)?;
        let mut state = self.state.lock();
        state.listen(self, channel.to_owned(), ears);
        self.count(&state);
        Ok(())
    }

    /// The database is closed: who waits learns that nothing comes any more.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let wakers: Vec<Waker> = state.listeners.values().flatten().filter_map(|m| m.close()).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn count(&self, state: &State) {
        self.listened.store(state.listeners.len(), Ordering::Relaxed);
    }
}

impl State {
    fn listen(&mut self, home: &Arc<Channels>, channel: String, ears: &mut Ears) {
        let hearing = ears.0.get_or_insert_with(|| Hearing {
            home: home.clone(),
            mailbox: Arc::default(),
            channels: Vec::new(),
        });
        if !hearing.channels.contains(&channel) {
            if self.closed {
                hearing.mailbox.close();
            }
            self.listeners.entry(channel.clone()).or_default().push(hearing.mailbox.clone());
            hearing.channels.push(channel);
        }
    }

    fn unlisten(&mut self, channel: Option<&str>, hearing: &mut Hearing) {
        let (listeners, mailbox) = (&mut self.listeners, &hearing.mailbox);
        hearing.channels.retain(|own| {
            let stays = channel.is_some_and(|channel| channel != own);
            if !stays && let Some(all) = listeners.get_mut(own) {
                all.retain(|other| !Arc::ptr_eq(other, mailbox));
                if all.is_empty() {
                    listeners.remove(own);
                }
            }
            stays
        });
    }
}

/// 22023 where it is no channel's name.
pub(crate) fn check_channel(channel: &str) -> Result<()> {
    let wrong = |what: &str| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, what));
    match channel.len() {
        0 => wrong("channel name cannot be empty"),
        1..=CHANNEL_MAX => Ok(()),
        _ => wrong("channel name too long"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(channels: &Arc<Channels>, ts: u64, payload: &str) -> Place {
        let mut said = Said::default();
        for _ in 0..2 {
            said.push(Saying::Notify { channel: "c".into(), payload: payload.into() });
        }
        channels.put_in_line(CommitTs(ts), 7, &mut said, &mut Ears::default()).expect("somebody listens")
    }

    fn heard(ears: &Ears) -> Vec<String> {
        std::iter::from_fn(|| ears.mailbox()?.take()).map(|n| n.payload).collect()
    }

    #[test]
    fn notifications_come_in_the_order_of_commits_when_they_are_on_disk() {
        let (channels, mut ears) = (Arc::<Channels>::default(), Ears::default());
        channels.listen("c", &mut ears).expect("a name");
        let (one, two) = (CommitTs(Epoch(1).first_ts().0 + 1), Epoch(2).first_ts());
        let began = channels.begin_commit(one);
        say(&channels, two.0, "later");
        channels.deliver(None);
        assert!(heard(&ears).is_empty(), "one before it has not committed yet");
        let first = say(&channels, one.0, "first");
        channels.end_commit(began, Some(first), true);
        channels.deliver(Some(Epoch(1)));
        assert_eq!(heard(&ears), ["first"], "each once, and the later one is not on disk");
        channels.deliver(Some(Epoch(2)));
        assert_eq!(heard(&ears), ["later"]);
    }

    #[test]
    fn who_listens_no_more_hears_nothing() {
        let (channels, mut ears) = (Arc::<Channels>::default(), Ears::default());
        channels.listen("c", &mut ears).expect("a name");
        channels.listen("c", &mut ears).expect("a name");
        assert_eq!(ears.channels(), ["c"]);
        drop(ears);
        assert_eq!(channels.listened.load(Ordering::Relaxed), 0);
        let mut said = Said::default();
        said.push(Saying::Notify { channel: "c".into(), payload: String::new() });
        assert_eq!(channels.put_in_line(CommitTs(1), 7, &mut said, &mut Ears::default()), None);
        assert!(channels.listen(&"x".repeat(64), &mut Ears::default()).is_err());
        assert!(channels.check("", "").is_err() && channels.check("c", &"x".repeat(8000)).is_err());
    }

    #[test]
    fn what_is_taken_back_is_not_said() {
        let mut said = Said::default();
        let notify = |payload: &str| Saying::Notify { channel: "c".into(), payload: payload.into() };
        said.push(notify("one"));
        said.begin();
        said.push(notify("two"));
        said.take_back();
        let mark = said.mark();
        said.push(notify("three"));
        said.back_to(mark);
        said.push(notify("four"));
        assert_eq!(said.take(), [notify("one"), notify("four")]);
    }
}
