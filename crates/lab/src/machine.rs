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
        let caches = (0..8)
            .filter_map(|i| read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{i}/size")).ok());
        Machine {
            processor: field("/proc/cpuinfo", "model name"),
            cores: Machine::cores(),
            memory_bytes: kib(&field("/proc/meminfo", "MemTotal")),
            cache_bytes: caches.map(|size| kib(&size)).max().unwrap_or(0),
        }
    }

    /// Cores there are to run on; 1 if it does not say.
    pub fn cores() -> usize {
        std::thread::available_parallelism().map_or(1, |n| n.get())
    }

    /// Bytes of memory that nobody uses now; much if it does not say.
    pub fn available_bytes() -> u64 {
        match kib(&field("/proc/meminfo", "MemAvailable")) {
            0 => 1 << 50,
            bytes => bytes,
        }
    }
}

/// What a file of lines `name: value` says.
fn field(file: &str, name: &str) -> String {
    let text = read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|l| l.starts_with(name)).unwrap_or_default();
    line.split_once(':').map_or(String::new(), |(_, value)| value.trim().to_owned())
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
