//! How loud a message is: the levels of PL/pgSQL's RAISE.

/// Severity of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// DEBUG
    Debug,
    /// LOG
    Log,
    /// INFO
    Info,
    /// NOTICE
    Notice,
    /// WARNING
    Warning,
    /// EXCEPTION: an error, which ends what raises it
    Exception,
}

impl Level {
    /// Every level, the quietest first.
    pub const ALL: [Level; 6] =
        [Level::Debug, Level::Log, Level::Info, Level::Notice, Level::Warning, Level::Exception];

    /// The word of RAISE, in lower case.
    pub fn word(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Log => "log",
            Level::Info => "info",
            Level::Notice => "notice",
            Level::Warning => "warning",
            Level::Exception => "exception",
        }
    }

    /// What a client is told of a message that is no error.
    pub fn severity(self) -> &'static str {
        match self {
            Level::Debug => "DEBUG",
            Level::Log => "LOG",
            Level::Info => "INFO",
            Level::Notice => "NOTICE",
            Level::Warning | Level::Exception => "WARNING",
        }
    }
}
