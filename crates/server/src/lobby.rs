//! Connections that have not said yet who they are. They take none of the places of clients
//! (`max_connections`), and whoever floods the lobby gets in his own way:
//!
//! 1. Of each address (of IPv6 the network, its first 64 bits) so many may be here. Who comes on top of them
//!    sends away the one of its address that has been here longest, unless that has just come: logging in takes
//!    milliseconds, and a burst of clients is no flood.
//! 2. All in all there is a limit, too. There the address that has most here loses its oldest, however young.
//!
//! So somebody who logs in at once is let in beside any number of silent sockets, from whatever address.

use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Where connections come from, as far as they are held against each other; `None`: this machine's socket file.
pub(crate) type Origin = Option<IpAddr>;

/// The origin of a connection: whoever has an address of IPv6 has all of its network.
pub(crate) fn origin(peer: Option<SocketAddr>) -> Origin {
    Some(match peer?.ip().to_canonical() {
        IpAddr::V6(ip) if !ip.is_loopback() => IpAddr::V6(Ipv6Addr::from(u128::from(ip) >> 64 << 64)),
        ip => ip,
    })
}

/// Who has been here for less is not sent away for the sake of its address alone.
const BURST: Duration = Duration::from_secs(1);

/// See the module's head.
pub(crate) struct Lobby {
    of_address_max: usize,
    max: usize,
    guests: Mutex<Guests>,
}

#[derive(Default)]
struct Guests {
    /// In the order in which they came.
    here: BTreeMap<u64, Here>,
    of_address: HashMap<Origin, usize>,
    next: u64,
}

struct Here {
    origin: Origin,
    since: Instant,
    leave: Arc<Notify>,
}

/// A connection in the lobby, until it is dropped.
pub(crate) struct Guest {
    lobby: Arc<Lobby>,
    number: u64,
    leave: Arc<Notify>,
}

impl Lobby {
    pub(crate) fn new(of_address_max: usize, max: usize) -> Arc<Lobby> {
        Arc::new(Lobby { of_address_max: of_address_max.max(1), max: max.max(1), guests: Mutex::default() })
    }

    /// Lets a connection in; another may have to leave for it.
    pub(crate) fn enter(self: &Arc<Lobby>, origin: Origin) -> Guest {
        let (now, leave) = (Instant::now(), Arc::new(Notify::new()));
        let mut guests = self.guests.lock();
        let crowded = guests.of_address.get(&origin).is_some_and(|n| *n >= self.of_address_max);
        if crowded {
            let oldest = guests.oldest_of(origin);
            if let Some(n) = oldest.filter(|n| now.duration_since(guests.here[n].since) >= BURST) {
                guests.send_away(n);
            }
        }
        if guests.here.len() >= self.max {
            let most = guests.of_address.iter().max_by_key(|(_, n)| **n).map(|(origin, _)| *origin);
            if let Some(n) = most.and_then(|origin| guests.oldest_of(origin)) {
                guests.send_away(n);
            }
        }
        let number = guests.next;
        guests.next += 1;
        *guests.of_address.entry(origin).or_default() += 1;
        guests.here.insert(number, Here { origin, since: now, leave: leave.clone() });
        Guest { lobby: self.clone(), number, leave }
    }
}

impl Guests {
    fn oldest_of(&self, origin: Origin) -> Option<u64> {
        self.here.iter().find(|(_, here)| here.origin == origin).map(|(n, _)| *n)
    }

    fn remove(&mut self, number: u64) -> Option<Here> {
        let here = self.here.remove(&number)?;
        if let Some(n) = self.of_address.get_mut(&here.origin) {
            *n -= 1;
            if *n == 0 {
                self.of_address.remove(&here.origin);
            }
        }
        Some(here)
    }

    fn send_away(&mut self, number: u64) {
        if let Some(here) = self.remove(number) {
            here.leave.notify_one();
        }
    }
}

impl Guest {
    /// Returns when it has to leave.
    pub(crate) async fn until_sent_away(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.lobby.guests.lock().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(text: &str) -> Origin {
        origin(Some(SocketAddr::new(text.parse().expect("an address"), 1)))
    }

    /// Whether it has been told to leave.
    fn left(guest: &Guest) -> bool {
        !guest.lobby.guests.lock().here.contains_key(&guest.number)
    }

    #[test]
    fn an_address_loses_its_oldest_that_is_no_burst() {
        let lobby = Lobby::new(2, 100);
        let (a, b) = (from("192.0.2.1"), from("192.0.2.2"));
        let other = lobby.enter(b);
        let all: Vec<Guest> = (0..4).map(|_| lobby.enter(a)).collect();
        assert!(!all.iter().any(left), "a burst");
        lobby.guests.lock().here.values_mut().for_each(|h| h.since -= BURST);
        let late = lobby.enter(a);
        assert_eq!(all.iter().map(left).collect::<Vec<_>>(), [true, false, false, false]);
        assert!(!left(&late) && !left(&other));
        drop((all, late, other));
        let guests = lobby.guests.lock();
        assert!(guests.here.is_empty() && guests.of_address.is_empty());
    }

    #[test]
    fn who_has_most_loses_first() {
        let lobby = Lobby::new(100, 5);
        let honest = lobby.enter(from("192.0.2.1"));
        let flood: Vec<Guest> = (0..50).map(|i| lobby.enter(from(&format!("2001:db8::{i:x}:1")))).collect();
        assert!(!left(&honest) && flood[..46].iter().all(left) && !flood[46..].iter().any(left));
    }

    #[test]
    fn an_address_of_ipv6_is_its_network() {
        assert_eq!(from("2001:db8:1:2:3::4"), from("2001:db8:1:2::"));
        assert_ne!(from("2001:db8:1:2::"), from("2001:db8:1:3::"));
        assert_eq!(from("::ffff:192.0.2.7"), from("192.0.2.7"));
        assert_ne!(from("::1"), from("::2"));
        assert_eq!(origin(None), None);
    }
}
