//! What the numbers were measured on.

use serde::Serialize;
use std::fs::read_to_string;

/// A machine, as far as it says.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Model of the processor.
    pub processor: String,
    /// Cores there are to run on.
    pub cores: usize,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bytes of the last-level cache.
    pub cache_bytes: u64,
}

impl Machine {
    /// This one. What it does not say is empty or 0.
    pub fn this() -> Machine {
        let field = |file: &str, name: &str| {
            let text = read_to_string(file).unwrap_or_default();
            let line = text.lines().find(|l| l.starts_with(name)).unwrap_or_default().to_owned();
            line.split_once(':').map_or(String::new(), |(_, value)| value.trim().to_owned())
        };
        let caches = (0..8)
            .filter_map(|i| read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{i}/size")).ok());
        Machine {
            processor: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            memory_bytes: kib(&field("/proc/meminfo", "MemTotal")),
            cache_bytes: caches.map(|size| kib(&size)).max().unwrap_or(0),
        }
    }
}

/// Bytes of a number of KiB as the system writes it: `24576 kB`, `2048K`.
fn kib(text: &str) -> u64 {
    let digits: String = text.trim().chars().take_while(char::is_ascii_digit).collect();
    digits.parse::<u64>().unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_are_read() {
        assert_eq!(super::kib("24576 kB"), 24576 << 10);
        assert_eq!(super::kib("2048K\n"), 2 << 20);
        assert_eq!(super::kib(""), 0);
    }
}
