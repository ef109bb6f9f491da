//! What EXPLAIN answers in XML and YAML: the JSON of the plan in another form, its fields in the same order.

use planaria_syntax::ast::ExplainFormat;

/// A part of the answer.
enum Part<'j> {
    /// As it stands in the JSON.
    Value(&'j str),
    /// Parts without names.
    List(Vec<Part<'j>>),
    /// Named parts.
    Group(Vec<(&'j str, Part<'j>)>),
}

/// The answer in a format, from its JSON.
pub(crate) fn explained(json: String, format: ExplainFormat) -> String {
    let mut rest = json.as_str();
    let (ExplainFormat::Xml | ExplainFormat::Yaml, Some(Part::List(queries))) = (format, part(&mut rest))
    else {
        return json;
    };
    let mut out = String::new();
    if format == ExplainFormat::Yaml {
        for (at, query) in queries.iter().enumerate() {
            out.push_str(if at > 0 { "\n- " } else { "- " });
            yaml(query, 2, &mut out);
        }
        return out;
    }
    out.push_str("<explain xmlns=\"http://www.postgresql.org/2009/explain\">");
    queries.iter().for_each(|query| xml("Query", query, 2, &mut out));
    out.push_str("\n</explain>");
    out
}

/// Reads a part of a JSON text of ours; `None` where the text ends in it.
fn part<'j>(rest: &mut &'j str) -> Option<Part<'j>> {
    fn skip(rest: &mut &str) -> Option<char> {
        *rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',' || c == ':');
        rest.chars().next()
    }
    let close = match skip(rest)? {
        '[' => ']',
        '{' => '}',
        _ => return Some(Part::Value(value(rest))),
    };
    *rest = &rest[1..];
    let (mut list, mut group) = (Vec::new(), Vec::new());
    while skip(rest)? != close {
        match close {
            ']' => list.push(part(rest)?),
            _ => {
                let name = value(rest).trim_matches('"');
                group.push((name, part(rest)?));
            }
        }
    }
    *rest = &rest[1..];
    Some(if close == ']' { Part::List(list) } else { Part::Group(group) })
}

/// A text in quotes, or what stands before the next sign.
fn value<'j>(rest: &mut &'j str) -> &'j str {
    let mut escaped = false;
    let quoted = rest.starts_with('"');
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let ends = if quoted { *c == '"' && !escaped } else { ",]}".contains(*c) || c.is_whitespace() };
        escaped = *c == '\\' && !escaped;
        ends
    });
    let (value, behind) = rest.split_at(end.map_or(rest.len(), |(at, _)| at + usize::from(quoted)));
    *rest = behind;
    value
}

fn line(indent: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
}

fn yaml(part: &Part<'_>, indent: usize, out: &mut String) {
    match part {
        Part::Value(value) => out.push_str(value),
        Part::List(parts) => {
            for part in parts {
                line(indent, out);
                out.push_str("- ");
                yaml(part, indent + 2, out);
            }
        }
        Part::Group(parts) => {
            for (at, (name, part)) in parts.iter().enumerate() {
                // The first stands on the line that begins the group.
                if at > 0 {
                    line(indent, out);
                }
                out.push_str(name);
                out.push_str(": ");
                if let Part::Group(_) = part {
                    line(indent + 2, out);
                }
                yaml(part, indent + 2, out);
            }
        }
    }
}

fn xml(name: &str, part: &Part<'_>, indent: usize, out: &mut String) {
    let kept = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let tag: String = name.chars().map(kept).collect();
    line(indent, out);
    out.push_str(&format!("<{tag}>"));
    match part {
        Part::Value(value) => {
            let text = match value.starts_with('"') {
                true => planaria_base::json::Json::parse(value).ok(),
                false => None,
            };
            let text = match &text {
                Some(planaria_base::json::Json::String(text)) => text,
                _ => *value,
            };
            for c in text.chars() {
                match c {
                    '&' => out.push_str("&amp;"),
                    '<' => out.push_str("&lt;"),
                    '>' => out.push_str("&gt;"),
                    '"' => out.push_str("&quot;"),
                    '\r' => out.push_str("&#x0d;"),
                    c => out.push(c),
                }
            }
        }
        Part::List(parts) => {
            for part in parts {
                let name = if let Part::Value(_) = part { "Item" } else { name.trim_end_matches('s') };
                xml(name, part, indent + 2, out);
            }
            line(indent, out);
        }
        Part::Group(parts) => {
            parts.iter().for_each(|(name, part)| xml(name, part, indent + 2, out));
            line(indent, out);
        }
    }
    out.push_str(&format!("</{tag}>"));
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = "[\n  {\n    \"Plan\": {\n      \"Node Type\": \"Sort\",\n      \"Sort Key\": [\"a\", \"b < \\\"c\\\"\"],\n      \
                        \"Plans\": [\n        {\n          \"Node Type\": \"Result\",\n          \"Parallel Aware\": false\n        }\n      \
                        ]\n    },\n    \"Planning Time\": 0.012\n  }\n]";

    #[test]
    fn formats_have_what_the_json_has() {
        let yaml = explained(JSON.to_owned(), ExplainFormat::Yaml);
        let expected = "- Plan: \n    Node Type: \"Sort\"\n    Sort Key: \n      - \"a\"\n      - \"b < \\\"c\\\"\"\n    Plans: \n      \
                        - Node Type: \"Result\"\n        Parallel Aware: false\n  Planning Time: 0.012";
        assert_eq!(yaml, expected);
        let xml = explained(JSON.to_owned(), ExplainFormat::Xml);
        assert!(xml.contains("<Item>b &lt; &quot;c&quot;</Item>"), "{xml}");
        assert!(
            xml.contains("      <Plans>\n        <Plan>\n          <Node-Type>Result</Node-Type>"),
            "{xml}"
        );
        assert!(xml.ends_with("    <Planning-Time>0.012</Planning-Time>\n  </Query>\n</explain>"), "{xml}");
    }
}
