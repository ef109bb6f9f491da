//! The default parser: from text to tokens.
//!
//! A machine with states. In a state, rules are tried in order against the next character (or what follows it), and the first
//! that fits is taken: it may go on to a state, find a token, or put where it stands on a stack before it tries something
//! (`+`), which it comes back from (`^`) to the rule behind where it does not work out. Tokens of more than one part
//! (`well-known`, `example.com/page`) are found as a whole first, then once more part by part.
//!
//! | in a rule | means |
//! |---|---|
//! | `$`, `*` | the end; anything |
//! | `a` `l` `d` `n` `x` `m` | an ASCII letter, a letter, a digit, one of the two, a hexadecimal digit, a mark that is part of a word |
//! | `s` `N` | a space, neither letter nor digit |
//! | `U` | what may be in a URL, by RFC 3986 |
//! | `i` `w` | what is within `<script>` or `<style>`; where only a host was wanted |
//! | `h` `u` | a host, a path: they are read on |
//! | `.x` | the character x |
//! | `>State`, `>` | takes the character and goes on, there or here |
//! | `+State` | the same, and remembers where |
//! | `^` | comes back |
//! | `=State` | goes on without taking the character |
//! | `!Token:State` | the token ends before the character; the next one begins there |
//! | `~`, `~~` in front | forgets the last place remembered; all of them |
//! | `&` | takes the character into the token that is remembered |
//! | `:name` at the end | something besides, see [`Extra`] |

use planaria_base::{Error, Result, stack, watch};
use regex::Regex;
use std::collections::HashMap;
use std::sync::LazyLock;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    AsciiWord,
    Word,
    NumWord,
    Email,
    Url,
    Host,
    SFloat,
    Version,
    HWordNumPart,
    HWordPart,
    HWordAsciiPart,
    Blank,
    Tag,
    Protocol,
    NumHWord,
    AsciiHWord,
    HWord,
    UrlPath,
    File,
    Float,
    Int,
    UInt,
    Entity,
}

impl Kind {
    const ALL: [(&'static str, Kind); 23] = {
        use Kind::*;
        [
            ("asciiword", AsciiWord),
            ("word", Word),
            ("numword", NumWord),
            ("email", Email),
            ("url", Url),
            ("host", Host),
            ("sfloat", SFloat),
            ("version", Version),
            ("hword_numpart", HWordNumPart),
            ("hword_part", HWordPart),
            ("hword_asciipart", HWordAsciiPart),
            ("blank", Blank),
            ("tag", Tag),
            ("protocol", Protocol),
            ("numhword", NumHWord),
            ("asciihword", AsciiHWord),
            ("hword", HWord),
            ("url_path", UrlPath),
            ("file", File),
            ("float", Float),
            ("int", Int),
            ("uint", UInt),
            ("entity", Entity),
        ]
    };

    /// Whether no configuration looks it up.
    pub fn is_ignored(self) -> bool {
        matches!(self, Kind::Tag | Kind::Protocol | Kind::Blank | Kind::Entity)
    }
}

/// The rules of each state.
const RULES: &str = "
Base: $> .<+TagFirst i>Space a>AsciiWord l>Word d>UInt .-+SignFirst .++SignFirst .&+EntityFirst .~+FileTilde ./+FileFirst ..+DotFirst *>Space
NumWord: $!numword:Base n> m> .@+Email ./+FileFirst ..+FileNext .-+HyphenNumFirst *!numword:Base
AsciiWord: $!asciiword:Base a> ..+HostFirst ..+FileNext .-+HostHyphen .-+HyphenAsciiFirst ._+HostHyphen .@+Email .:+ProtocolFirst ./+FileFirst d+Host d>NumWord l>Word m>Word *!asciiword:Base
Word: $!word:Base l> m> d>NumWord .-+HyphenWordFirst *!word:Base
UInt: $!uint:Base d> ..+HostFirst ..+UFloatFirst .e+ExponentFirst .E+ExponentFirst .-+HostHyphen ._+HostHyphen .@+Email a+Host l>NumWord m>NumWord ./+FileFirst *!uint:Base
SignFirst: $^ d~>Int *^
Int: $!int:Base d> ..+FloatFirst .e+ExponentFirst .E+ExponentFirst *!int:Base
Space: $!blank:Base .<!blank:Base i> .-!blank:Base .+!blank:Base .&!blank:Base ./!blank:Base N> *!blank:Base
UFloatFirst: $^ d~>UFloat *^
UFloat: $!float:Base d> ..+VersionFirst .e+ExponentFirst .E+ExponentFirst *!float:Base
FloatFirst: $^ d~>Float *^
Float: $!float:Base d> ..+SignedVersion .e+ExponentFirst .E+ExponentFirst *!float:Base
SignedVersion: $^ d=SignOfVersion:back *^
SignOfVersion: $^ d~~!blank:UInt *>
VersionFirst: $^ d~>Version *^
Version: $!version:Base d> ..+VersionFirst *!version:Base
ExponentFirst: $^ d~>Exponent .+>ExponentSign .->ExponentSign *^
ExponentSign: $^ d~>Exponent *^
Exponent: $!sfloat:Base d> *!sfloat:Base
EntityFirst: $^ .#>EntityNumberFirst a>Entity .:>Entity ._>Entity *^
Entity: $^ n> .:> ._> ..> .-> .;>EntityEnd *^
EntityNumberFirst: $^ .x>EntityHexFirst .X>EntityHexFirst d>EntityNumber *^
EntityHexFirst: $^ x>EntityHex *^
EntityNumber: $^ d> .;>EntityEnd *^
EntityHex: $^ x> .;>EntityEnd *^
EntityEnd: *~!entity:Base
TagFirst: $^ ./+TagCloseFirst .!+CommentFirst .?+XmlFirst a+TagName .:+TagName ._+TagName *^
XmlFirst: $^ .x>InTag *^
TagCloseFirst: $^ a>TagName *^
TagName: $^ ./>TagSlash .>>TagEnd:tag s>InTag:tag n> .:> ._> ..> .-> *^
TagSlash: $^ .>>TagEnd *^
InTag: $^ .>>TagEnd:tag .'>InQuote .\">InQuotes a> d> .=> .-> ._> .#> ./> .:> ..> .&> .?> .%> .~> s>:tag *^
InQuote: $^ .\\+Escaped .'>InTag *>
InQuotes: $^ .\\+Escaped .\">InTag *>
Escaped: $^ *&
TagEnd: *~~!tag:Base
CommentFirst: $^ .->CommentOpen .D>InTag .d>InTag *^
CommentOpen: $^ .->Comment *^
Comment: $^ .->CommentClose *>
CommentClose: $^ .->CommentLast *>Comment
CommentLast: $^ .-> .>>CommentEnd *>Comment
CommentEnd: *~~!tag:Base
HostFirst: $^ a>DomainSecond d>Host *^
DomainSecond: $^ a>Domain d+Host .-+HostHyphen ._+HostHyphen ..+HostFirst .@+Email *^
Domain: $~~!host:Base a> d+Host .:+PortFirst .-+HostHyphen ._+HostHyphen ..+HostFirst .@+Email d^ w~~!host:PathStart ./+FullUrl *~~!host:Base
PortFirst: $^ d>Port *^
Port: $~~!host:Base d> w~~!host:PathStart ./+FullUrl *~~!host:Base
HostHyphen: $^ d>Host a>Host *^
Host: $^ d> a> .@+Email ..+HostFirst .-+HostHyphen ._+HostHyphen *^
Email: w^ h~~!email:Base *^
FileFirst: $^ a>File d>File ..>PathFirst ._>File .~+FileTilde *^
FileTilde: $^ a>File d>File ._>File ./>FileFirst *^
PathFirst: $^ a>File d>File ._>File ..>PathSecond ./>FileFirst *^
DotFirst: $^ ..>PathSecond ./>FileFirst *^
PathSecond: $~!file:Base ./+FileFirst ./~!file:Base s~!file:Base *^
File: $!file:Base a> d> ..+FileNext ._> .-> ./+FileFirst *!file:Base
FileNext: $^ a~>File d~>File ._~>File *^
UrlPathFirst: $^ U>UrlPath *^
PathStart: *>UrlPath
UrlPath: $!url_path:Base U> *!url_path:Base
FullUrl: $^ u~~!url:Base:url *^
ProtocolFirst: $^ ./>ProtocolSecond *^
ProtocolSecond: $^ ./>ProtocolEnd *^
ProtocolEnd: *~~!protocol:Base
HyphenAsciiFirst: $^ a>HyphenAscii l>HyphenWord d>HyphenDigits *^
HyphenAscii: $~~!asciihword:Parts:again a> l>HyphenWord m>HyphenWord d>HyphenNum .-+HyphenAsciiFirst *~~!asciihword:Parts:again
HyphenWordFirst: $^ l>HyphenWord d>HyphenDigits *^
HyphenWord: $~~!hword:Parts:again l> m> d>HyphenNum .-+HyphenWordFirst *~~!hword:Parts:again
HyphenNumFirst: $^ l>HyphenNum d>HyphenDigits *^
HyphenNum: $~~!numhword:Parts:again n> m> .-+HyphenNumFirst *~~!numhword:Parts:again
HyphenDigits: $^ d> l>HyphenNum m>HyphenNum *^
Parts: $=Base a>AsciiPart l>WordPart d+PartDigits .-+PartHyphen *=Base
PartHyphen: $^ n~!blank:Parts m~!blank:Parts *^
WordPart: $!hword_part:Base l> m> d>NumPart *!hword_part:Parts
AsciiPart: $!hword_asciipart:Base a> l>WordPart m>WordPart d>NumPart *!hword_asciipart:Parts
NumPart: $!hword_numpart:Base n> m> *!hword_numpart:Parts
PartDigits: $^ d> l~>NumPart m~>NumPart *^
";

/// What a rule asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Test {
    End,
    Any,
    Is(char),
    Class(char),
}

/// What is done about the places that are remembered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Places {
    Keep,
    Push,
    Pop,
    ForgetLast,
    ForgetAll,
    Merge,
}

/// What some rules do besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Extra {
    /// Goes back to where the token began, which begins anew.
    Back,
    /// Goes back there for its parts.
    Again,
    /// The same, for the host and path of a URL.
    Url,
    /// Looks whether what follows is script or style, or that is over.
    Tag,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    test: Test,
    places: Places,
    /// Where it goes on; `None`: here.
    to: Option<usize>,
    token: Option<Kind>,
    /// Without taking the character.
    rerun: bool,
    extra: Option<Extra>,
}

/// States by number, 0 the first.
static STATES: LazyLock<Vec<Vec<Rule>>> = LazyLock::new(|| {
    let lines: Vec<(&str, &str)> = RULES.lines().filter_map(|line| line.split_once(": ")).collect();
    let numbers: HashMap<&str, usize> = lines.iter().enumerate().map(|(i, (name, _))| (*name, i)).collect();
    let rule = |text: &str| {
        let mut chars = text.chars();
        let test = match chars.next() {
            Some('$') => Test::End,
            Some('*') => Test::Any,
            Some('.') => Test::Is(chars.next().expect("a character")),
            Some(class) => Test::Class(class),
            None => unreachable!("parts are not empty"),
        };
        let rest = chars.as_str();
        let (rest, forget) = match rest.strip_prefix("~~") {
            Some(rest) => (rest, Places::ForgetAll),
            None => match rest.strip_prefix('~') {
                Some(rest) => (rest, Places::ForgetLast),
                None => (rest, Places::Keep),
            },
        };
        let mut rule = Rule { test, places: forget, to: None, token: None, rerun: false, extra: None };
        let mut rest = rest.chars();
        let kind = rest.next();
        let mut words = rest.as_str().split(':');
        match kind {
            Some('>') => {}
            Some('+') => rule.places = Places::Push,
            Some('^') => rule.places = Places::Pop,
            Some('&') => rule.places = Places::Merge,
            Some('=') => rule.rerun = true,
            Some('!') => {
                let name = words.next().expect("a token");
                rule.token = Kind::ALL.iter().find(|(n, _)| *n == name).map(|(_, kind)| *kind);
            }
            _ => unreachable!("{text}"),
        }
        rule.to = words.next().filter(|name| !name.is_empty()).map(|name| numbers[name]);
        rule.extra = words.next().map(|name| match name {
            "back" => Extra::Back,
            "again" => Extra::Again,
            "url" => Extra::Url,
            _ => Extra::Tag,
        });
        rule
    };
    lines.iter().map(|(_, rules)| rules.split(' ').map(rule).collect()).collect()
});

fn state(name: &str) -> usize {
    RULES.lines().filter_map(|line| line.split_once(": ")).position(|(n, _)| n == name).expect("a state")
}

static URL_PATH_FIRST: LazyLock<usize> = LazyLock::new(|| state("UrlPathFirst"));
static MARK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\p{M}").expect("a class"));
static DECIMAL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\p{Nd}").expect("a class"));

fn in_class(class: &Regex, c: char) -> bool {
    class.is_match(c.encode_utf8(&mut [0; 4]))
}

/// Letters are those of Unicode, with its digits but for the ten of ASCII.
fn is_letter(c: char) -> bool {
    match c.is_ascii() {
        true => c.is_ascii_alphabetic(),
        false => c.is_alphabetic() || c.is_numeric() && in_class(&DECIMAL, c),
    }
}

/// Marks that stand by a letter: they do not end a word.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && in_class(&MARK, c)
}

/// A place in the text, and the rule that waits there.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    /// Bytes and characters of the token so far.
    bytes: usize,
    chars: usize,
    state: usize,
    /// The rule behind which to go on.
    waits: Option<usize>,
}

/// A parser of a text.
pub struct Tokens<'t> {
    text: &'t str,
    place: Place,
    remembered: Vec<Place>,
    /// Where the token begins.
    begin: usize,
    ignore: bool,
    want_host: bool,
}

impl<'t> Tokens<'t> {
    /// The tokens of a text.
    pub fn new(text: &'t str) -> Tokens<'t> {
        let place = Place { at: 0, bytes: 0, chars: 0, state: 0, waits: None };
        Tokens { text, place, remembered: Vec::new(), begin: 0, ignore: false, want_host: false }
    }

    /// The next token.
    pub fn next_token(&mut self) -> Result<Option<(Kind, &'t str)>> {
        if self.place.at >= self.text.len() {
            return Ok(None);
        }
        watch::check()?;
        self.begin = self.place.at;
        self.place.waits = None;
        loop {
            let next = self.text[self.place.at..].chars().next();
            let from = self.place.waits.take().map_or(0, |waits| waits + 1);
            let rules = &STATES[self.place.state];
            let mut taken = None;
            for (i, rule) in rules.iter().enumerate().skip(from) {
                if self.fits(rule.test, next)? {
                    taken = Some((i, *rule));
                    break;
                }
            }
            let (i, rule) = taken.ok_or_else(|| Error::internal("a text without a rule"))?;
            // What was read on by the test is behind now.
            let next = self.text[self.place.at..].chars().next().filter(|_| next.is_some());
            self.extra(rule.extra);
            let mut found = None;
            if let Some(kind) = rule.token {
                found = Some((kind, self.place.bytes));
                (self.place.bytes, self.place.chars) = (0, 0);
            }
            match rule.places {
                Places::Keep => {}
                Places::Push => {
                    self.place.waits = Some(i);
                    self.remembered.push(self.place);
                    self.place.waits = None;
                }
                Places::Pop => self.place = self.pop()?,
                Places::ForgetLast => drop(self.remembered.pop()),
                Places::ForgetAll => self.remembered.clear(),
                Places::Merge => {
                    let inner = self.place;
                    self.place = self.pop()?;
                    (self.place.at, self.place.bytes, self.place.chars) =
                        (inner.at, inner.bytes, inner.chars);
                    self.place.waits = None;
                }
            }
            if let Some(to) = rule.to {
                self.place.state = to;
            }
            if let Some((kind, bytes)) = found {
                return Ok(Some((kind, &self.text[self.begin..self.begin + bytes])));
            }
            if rule.rerun || rule.places == Places::Pop {
                continue;
            }
            match next {
                Some(c) => {
                    self.place.at += c.len_utf8();
                    self.place.bytes += c.len_utf8();
                    self.place.chars += 1;
                }
                None => return Ok(None),
            }
        }
    }

    fn pop(&mut self) -> Result<Place> {
        self.remembered.pop().ok_or_else(|| Error::internal("no place to come back to"))
    }

    fn fits(&mut self, test: Test, next: Option<char>) -> Result<bool> {
        let Some(c) = next else {
            return Ok(match test {
                Test::End | Test::Any | Test::Class('N') => true,
                Test::Class('i') => self.ignore,
                Test::Class('w') => std::mem::take(&mut self.want_host),
                _ => false,
            });
        };
        Ok(match test {
            Test::End => false,
            Test::Any => true,
            Test::Is(is) => c == is,
            Test::Class('a') => c.is_ascii_alphabetic(),
            Test::Class('l') => is_letter(c),
            Test::Class('d') => c.is_ascii_digit(),
            Test::Class('n') => c.is_ascii_digit() || is_letter(c),
            Test::Class('x') => c.is_ascii_hexdigit(),
            Test::Class('m') => is_mark(c),
            Test::Class('s') => planaria_base::packed::words::is_space(c),
            Test::Class('U') => {
                c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')
            }
            Test::Class('N') => !(c.is_ascii_digit() || is_letter(c)),
            Test::Class('i') => self.ignore,
            Test::Class('w') => std::mem::take(&mut self.want_host),
            Test::Class('h') => self.reads_on(false)?,
            Test::Class('u') => self.reads_on(true)?,
            Test::Class(_) => false,
        })
    }

    /// Whether a host (or the path of a URL) follows; then it is part of the token.
    fn reads_on(&mut self, path: bool) -> Result<bool> {
        stack::check()?;
        let mut inner = Tokens::new(&self.text[self.place.at..]);
        if path {
            inner.remembered.push(inner.place);
            inner.place.state = *URL_PATH_FIRST;
        } else {
            inner.want_host = true;
        }
        let Some((kind, token)) = inner.next_token()? else { return Ok(false) };
        let fits = match path {
            true => kind == Kind::UrlPath,
            false => kind == Kind::Host,
        };
        if fits {
            self.place.at += token.len();
            self.place.bytes += token.len();
            self.place.chars += token.chars().count();
        }
        Ok(fits)
    }

    fn extra(&mut self, extra: Option<Extra>) {
        match extra {
            None => {}
            Some(Extra::Again) => self.place.at -= self.place.bytes,
            Some(Extra::Back) => {
                self.place.at -= self.place.bytes;
                (self.place.bytes, self.place.chars) = (0, 0);
            }
            Some(Extra::Url) => {
                self.want_host = true;
                self.place.at -= self.place.bytes;
            }
            Some(Extra::Tag) => {
                let is = |tag: &str| {
                    self.place.chars == tag.len()
                        && self.text.as_bytes()[self.begin..]
                            .get(..tag.len())
                            .is_some_and(|begin| begin.eq_ignore_ascii_case(tag.as_bytes()))
                };
                if is("<script") || is("<style") {
                    self.ignore = true;
                } else if is("</script") || is("</style") {
                    self.ignore = false;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_that_is_named_is_there_and_ends() {
        assert!(STATES.len() > 60);
        for rules in STATES.iter() {
            assert_eq!(rules.last().map(|rule| rule.test), Some(Test::Any));
        }
    }

    fn tokens(text: &str) -> Vec<(Kind, &str)> {
        let mut tokens = Tokens::new(text);
        let mut all = Vec::new();
        while let Some(token) = tokens.next_token().unwrap() {
            all.push(token);
        }
        all
    }

    #[test]
    fn wholes_come_before_their_parts() {
        use Kind::*;
        let words =
            [(AsciiHWord, "well-known"), (HWordAsciiPart, "well"), (Blank, "-"), (HWordAsciiPart, "known")];
        assert_eq!(tokens("well-known"), words);
        let url = [(Url, "example.com/a?b=c"), (Host, "example.com"), (UrlPath, "/a?b=c")];
        assert_eq!(tokens("http://example.com/a?b=c")[1..], url);
        assert_eq!(tokens("a.b@example.com"), [(Email, "a.b@example.com")]);
    }
}
