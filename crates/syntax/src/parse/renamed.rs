//! A schema's name, changed wherever a text has it in front of another name.

use super::lex::Kind;
use super::literal;
use planaria_base::text_io::quote_ident;

/// The text with another name of a schema. `None` where a text says less than that: where the name stands for something
/// else as well (an alias, a table, a column), or within a string.
pub fn schema_renamed(text: &str, from: &str, to: &str) -> Option<String> {
    let tokens = super::tokens(text, 0..text.len());
    let in_front = format!("{from}.");
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (at, token) in tokens.iter().enumerate() {
        let spelled = token.text(text);
        let is_name = match token.kind {
            Kind::Word => literal::fold(spelled) == from,
            Kind::Quoted => literal::quoted_name(spelled) == from,
            Kind::UnicodeQuoted => return None,
            Kind::String | Kind::EscapeString | Kind::UnicodeString | Kind::DollarString => {
                if spelled.contains(&in_front) {
                    return None;
                }
                false
            }
            _ => false,
        };
        if !is_name {
            continue;
        }
        let behind_dot = at > 0 && tokens[at - 1].kind == Kind::Dot;
        if behind_dot || tokens.get(at + 1).is_none_or(|next| next.kind != Kind::Dot) {
            return None;
        }
        out.push_str(&text[copied..token.start as usize]);
        out.push_str(&quote_ident(to));
        copied = token.end as usize;
    }
    out.push_str(&text[copied..]);
    Some(out)
}
