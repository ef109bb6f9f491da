//! Calls of functions and aggregates: which one is meant, and what it takes.

use super::analysis::{Analysis, declared};
use super::builtin;
use super::coerce::UNKNOWN;
use super::node::{CallNode, EdgeNode, FrameNode, Node, NodeKind, SortNode, Ty, WindowNode, Worded};
use planaria_base::oid::Oid;
use planaria_base::text_io::quote_ident;
use planaria_catalog::{Procedure, Returns, system};
use planaria_syntax::ast::{Argument, Expr, ExprKind, Frame, FrameEdge, FunctionCall, OrderItem, Window};

const ANY: Oid = 2276;

/// A function that a call may mean.
struct Candidate {
    /// As it is written.
    name: String,
    /// With its schema, of one that a user made.
    qualified: Option<String>,
    /// The types of as many parameters as there are arguments.
    args: Vec<Oid>,
    result: Ty,
    /// Where the arguments begin that become an array, and the type of its elements.
    gathered: Option<(usize, Oid)>,
}

/// The type of what a routine answers; that of one of several columns is `record`.
fn result_of(analysis: &Analysis<'_>, routine: &Procedure) -> Ty {
    let catalog = analysis.catalog;
    match &routine.returns {
        Returns::Scalar(ty) | Returns::SetOf(ty) => declared(catalog, ty, routine.returns_domain),
        Returns::RowOf(id) | Returns::SetOfTable(id) => {
            let table = catalog.table_by_id(*id);
            let key = planaria_catalog::key(table.schema, &table.name);
            Ty::plain(catalog.oids.of(&planaria_catalog::oids::Object::RowType(key)))
        }
        _ => match routine.outputs().collect::<Vec<_>>()[..] {
            [one] => declared(catalog, &one.ty, one.domain),
            _ => Ty::plain(super::coerce::RECORD),
        },
    }
}

/// Whether two expressions are the same column, or the same text.
fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Column(a), ExprKind::Column(b)) => a.parts == b.parts,
        (a, b) => a == b,
    }
}

impl Analysis<'_> {
    /// A plain call of a built-in function.
    pub(super) fn call_of(&mut self, name: &str, args: Vec<Node>) -> Option<Node> {
        let args = args.into_iter().map(|a| (None, a)).collect();
        let (call, ty) = self.bind(&["pg_catalog".to_owned(), name.to_owned()], args, false)?;
        Some(Node { ty, kind: NodeKind::Call(Box::new(call)) })
    }

    /// A call as what its words make of it.
    pub(super) fn worded(&mut self, how: Worded, call: Node) -> Option<Node> {
        let NodeKind::Call(inner) = call.kind else { return None };
        let args = inner.args.into_iter().map(|(_, a)| a).collect();
        Some(Node { ty: call.ty, kind: NodeKind::Worded(how, args) })
    }

    pub(super) fn call(&mut self, call: &FunctionCall) -> Option<Node> {
        let mut args = Vec::new();
        for Argument { name, value } in &call.args {
            args.push((name.clone(), self.expr(value)?));
        }
        let name = call.name.parts.last()?.as_str();
        // What these words become is in the schema of the system.
        let own = matches!(&call.name.parts[..], [schema, name]
            if schema == "pg_catalog" && matches!(name.as_str(), "overlaps" | "is_normalized"));
        if name == "is_normalized" && own {
            return self.is_normalized(args);
        }
        let mut order = Vec::new();
        for item in &call.order_by {
            order.push(self.sorted(item)?);
        }
        let direct = args.len();
        if call.within_group {
            args.extend(order.iter().map(|o| (None, o.expr.clone())));
        }
        let (mut node, ty) = self.bind(&call.name.parts, args, call.variadic)?;
        if call.within_group {
            for (sort, (_, arg)) in order.iter_mut().zip(node.args.split_off(direct)) {
                sort.expr = arg;
            }
        }
        // With a regular expression it is a call like any other.
        let expression = |e: &Node| matches!(e.ty.oid, super::coerce::TEXT | super::coerce::UNKNOWN);
        let by_expression =
            name == "substring" && matches!(&node.args[..], [_, (_, e)] if expression(e) && !is_similar(e));
        if (call.worded || own) && !by_expression {
            let how = match name {
                "extract" => Worded::Extract,
                "normalize" => Worded::Normalize,
                "overlaps" if direct == 4 => Worded::Overlaps,
                "overlay" => Worded::Overlay,
                "position" => Worded::Position,
                // SIMILAR has a function of its own.
                "substring" if is_similar(&node.args[1].1) => return None,
                "substring" => Worded::Substring,
                "btrim" => Worded::Trim("BOTH"),
                "ltrim" => Worded::Trim("LEADING"),
                "rtrim" => Worded::Trim("TRAILING"),
                _ => return None,
            };
            return self.worded(how, Node { ty, kind: NodeKind::Call(Box::new(node)) });
        }
        // What is an argument, too, is ordered as the aggregate takes it.
        if !call.within_group {
            for (sort, item) in order.iter_mut().zip(&call.order_by) {
                if let Some(at) = call.args.iter().position(|a| same(&a.value, &item.expr)) {
                    sort.expr = node.args[at].1.clone();
                }
            }
        }
        node.distinct = call.distinct;
        node.star = call.star;
        node.order = order;
        node.within = call.within_group;
        if let Some(filter) = &call.filter {
            let filter = self.expr(filter)?;
            node.filter = Some(self.boolean(filter)?);
        }
        if let Some(window) = &call.over {
            node.over = Some(self.window(window, true)?);
        }
        Some(Node { ty, kind: NodeKind::Call(Box::new(node)) })
    }

    /// `text IS [NOT] form NORMALIZED`: the form that is meant without one is not written.
    fn is_normalized(&mut self, mut args: Vec<(Option<String>, Node)>) -> Option<Node> {
        let form = args.pop()?.1;
        let (_, text) = args.pop()?;
        let text = self.implicit(text, super::coerce::TEXT)?;
        let mut all = vec![text];
        if !matches!(&form.kind, NodeKind::Const(Some(form)) if form == "NFC") {
            all.push(form);
        }
        Some(Node { ty: Ty::plain(super::coerce::BOOL), kind: NodeKind::Worded(Worded::IsNormalized, all) })
    }

    fn candidates(
        &self,
        parts: &[String],
        args: &[(Option<String>, Node)],
        variadic: bool,
    ) -> Vec<Candidate> {
        let (schema, name) = match parts {
            [name] => (None, name),
            [schema, name] => (Some(schema.as_str()), name),
            _ => return Vec::new(),
        };
        let mut all = Vec::new();
        let named = args.iter().any(|(name, _)| name.is_some());
        if schema.is_none_or(|s| s == system::PG_CATALOG) && !named {
            for line in builtin::functions(name) {
                let mut types = line.args.clone();
                let mut gathered = None;
                if line.variadic != 0 && !variadic && args.len() + 1 > line.args.len() {
                    let fixed = line.args.len() - 1;
                    types.truncate(fixed);
                    types.resize(args.len(), line.variadic);
                    if types.len() == fixed {
                        continue;
                    }
                    gathered = (line.variadic != ANY).then_some((fixed, line.variadic));
                }
                if types.len() != args.len() {
                    continue;
                }
                all.push(Candidate {
                    name: quote_ident(name),
                    qualified: None,
                    args: types,
                    result: Ty::plain(line.result),
                    gathered,
                });
            }
        }
        let wanted = match schema {
            None => Some(planaria_catalog::Wanted::from(name)),
            Some(schema) => self.catalog.schema(schema).map(|id| (id, name.as_str()).into()),
        };
        for routine in wanted.into_iter().flat_map(|w| self.catalog.procedures_named(w)) {
            let inputs: Vec<_> = routine.inputs().collect();
            let taken = |at: usize, name: &Option<String>| match name {
                None => inputs.get(at),
                Some(name) => inputs.iter().find(|p| p.name == *name),
            };
            let params: Option<Vec<_>> =
                args.iter().enumerate().map(|(at, (name, _))| taken(at, name)).collect();
            let Some(params) = params.filter(|p| p.len() <= inputs.len()) else { continue };
            let missing =
                inputs.iter().any(|p| p.default.is_none() && !params.iter().any(|q| std::ptr::eq(*q, p)));
            let spread = inputs.iter().any(|p| p.mode == planaria_catalog::Mode::Variadic);
            if missing || spread {
                continue;
            }
            all.push(Candidate {
                name: self.shown.shown_routine(routine),
                qualified: Some(self.catalog.shown(routine.schema, &routine.name, None)),
                args: params.iter().map(|p| declared(self.catalog, &p.ty, p.domain).oid).collect(),
                result: result_of(self, routine),
                gathered: None,
            });
        }
        all
    }

    /// The function of a call, its arguments converted; and the type of its result.
    fn bind(
        &mut self,
        parts: &[String],
        args: Vec<(Option<String>, Node)>,
        variadic: bool,
    ) -> Option<(CallNode, Ty)> {
        let mut candidates = self.candidates(parts, &args, variadic);
        let types: Vec<Oid> = args.iter().map(|(_, a)| a.ty.oid).collect();
        let lists: Vec<Vec<Oid>> = candidates.iter().map(|c| c.args.clone()).collect();
        let mut found = candidates.swap_remove(self.choose(&types, &lists)?);
        // One that the same call could mean, too, by defaults of its own: by its name alone it is not unique.
        if let Some(qualified) = found.qualified.take()
            && candidates.iter().any(|c| c.qualified.is_some() && c.args == found.args)
        {
            found.name = qualified;
        }
        let (wanted, result) = self.resolve(&types, &found.args, found.result.oid)?;
        let mut nodes = Vec::new();
        for (at, (name, arg)) in args.into_iter().enumerate() {
            let arg = match found.args[at] {
                ANY => arg,
                declared => self.converted_to(arg, declared, wanted[at])?,
            };
            nodes.push((name, arg));
        }
        let mut variadic = variadic;
        if let Some((from, _)) = found.gathered {
            let items: Vec<Node> = nodes.split_off(from).into_iter().map(|(_, a)| a).collect();
            let array = self.array(items.first()?.ty.oid);
            nodes.push((None, Node { ty: Ty::plain(array), kind: NodeKind::Array(items) }));
            variadic = true;
        }
        let call = CallNode {
            name: found.name,
            args: nodes,
            variadic,
            distinct: false,
            star: false,
            order: Vec::new(),
            within: false,
            filter: None,
            over: None,
        };
        Some((call, Ty { oid: result, modifier: -1 }))
    }

    /// Of an aggregate or a window: there numbers and names of outputs mean nothing.
    fn sorted(&mut self, item: &OrderItem) -> Option<SortNode> {
        let expr = self.expr(&item.expr)?;
        let expr = self.known(expr)?;
        let nulls_first = item.nulls_first.unwrap_or(item.descending);
        Some(SortNode { expr, number: 0, descending: item.descending, nulls_first })
    }

    pub(super) fn window(&mut self, window: &Window, of_call: bool) -> Option<WindowNode> {
        let named = of_call
            && window.name.is_some()
            && window.partition_by.is_empty()
            && window.order_by.is_empty()
            && window.frame.is_none();
        let mut partition = Vec::new();
        for e in &window.partition_by {
            let e = self.expr(e)?;
            partition.push(self.known(e)?);
        }
        let order = window.order_by.iter().map(|o| self.sorted(o)).collect::<Option<_>>()?;
        let frame = match &window.frame {
            Some(frame) => Some(self.frame(frame)?),
            None => None,
        };
        Some(WindowNode { name: window.name.clone(), named, partition, order, frame })
    }

    fn frame(&mut self, frame: &Frame) -> Option<FrameNode> {
        let mut edge = |edge: &FrameEdge| {
            Some(match edge {
                FrameEdge::Unbounded => EdgeNode::Unbounded,
                FrameEdge::Current => EdgeNode::Current,
                FrameEdge::Preceding(e) => EdgeNode::Preceding(self.offset(frame, e)?),
                FrameEdge::Following(e) => EdgeNode::Following(self.offset(frame, e)?),
            })
        };
        let (start, end) = (edge(&frame.start)?, edge(&frame.end)?);
        // The word behind the one that says what is counted.
        let mut words = self.text.get(frame.position as usize..)?.split_whitespace();
        let between = words.nth(1).is_some_and(|word| word.eq_ignore_ascii_case("between"));
        // There may be comments among them.
        let between = between || !matches!(end, EdgeNode::Current);
        Some(FrameNode { units: frame.units, between, start, end, exclude: frame.exclude })
    }

    fn offset(&mut self, frame: &Frame, e: &Expr) -> Option<Node> {
        let e = self.expr(e)?;
        match frame.units {
            // What an offset of values is depends on what they are.
            planaria_syntax::ast::FrameUnits::Range if e.ty.oid == UNKNOWN => None,
            planaria_syntax::ast::FrameUnits::Range => Some(e),
            _ => self.implicit(e, super::coerce::INT8),
        }
    }
}

/// Whether it is what SIMILAR TO makes of a pattern.
fn is_similar(e: &Node) -> bool {
    matches!(&e.kind, NodeKind::Call(call) if call.name == "similar_to_escape")
}
