//! CREATE, ALTER and DROP POLICY.
//!
//! A policy's conditions are kept as text and lowered with the programs that use its table ([`crate::lower`]); what is
//! wrong with them is found here.

use super::depend::References;
use super::{Change, names};
use crate::lower::{check_policy_condition, qualified_expression};
use planaria_base::{Error, Level, Result, RoleId, SqlState, TableId};
use planaria_catalog::{Object, Policy, PolicyCommand, Table, oids};
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{CreatePolicy, Expr, Name, PolicyChange, RoleName, RoleSpec};

fn undefined(name: &str, table: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("policy \"{name}\" for table \"{table}\" does not exist"))
}

fn exists(name: &str, table: &str) -> Error {
    Error::new(SqlState::DUPLICATE_OBJECT, format!("policy \"{name}\" for table \"{table}\" already exists"))
}

fn wrong_clause(message: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

impl Change {
    /// The table of a policy, which the actor owns.
    fn policy_table(&self, name: &Name) -> Result<Table> {
        let local = names::own_relation(&self.catalog, name)?;
        let table = self.catalog.table(local).filter(|t| t.materialized.is_none()).cloned();
        let Some(table) = table else {
            if self.catalog.relation_exists(local) {
                let message = format!("\"{}\" is not a table", local.local);
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            let mut missing = names::no_relation(name);
            missing.fields_mut().position = None;
            return Err(missing);
        };
        self.catalog.require_owner(self.actor.user, &Object::Table(table.id))?;
        Ok(table)
    }

    pub(super) fn create_policy(&mut self, create: &CreatePolicy) -> Result<&'static str> {
        match create.command {
            PolicyCommand::Select | PolicyCommand::Delete if create.check.is_some() => {
                return Err(wrong_clause("WITH CHECK cannot be applied to SELECT or DELETE"));
            }
            PolicyCommand::Insert if create.using.is_some() => {
                return Err(wrong_clause("only WITH CHECK expression allowed for INSERT"));
            }
            _ => {}
        }
        let roles = self.policy_roles(&create.roles)?;
        let table = self.policy_table(&create.table)?;
        if table.partition.is_some() {
            let message = "row-level security of a single partition is not supported";
            return Err(Error::unsupported(message, "Define it on the partitioned table."));
        }
        let using = self.policy_text(&table, create.using.as_ref())?;
        let check = self.policy_text(&table, create.check.as_ref())?;
        if table.policy(&create.name).is_some() {
            return Err(exists(&create.name, &table.name));
        }
        let policy = Policy {
            name: create.name.clone(),
            permissive: create.permissive,
            command: create.command,
            roles,
            using,
            check,
            comment: None,
        };
        self.change_policies(table.id, |all| all.push(policy));
        Ok("CREATE POLICY")
    }

    /// Whom a policy is for; empty: everybody.
    fn policy_roles(&mut self, roles: &[RoleSpec]) -> Result<Vec<RoleId>> {
        if roles.iter().any(|r| r.name == RoleName::Public) {
            if roles.len() > 1 {
                let fields = Error::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    "ignoring specified roles other than PUBLIC",
                )
                .with_hint("All roles are members of the PUBLIC role.");
                self.out.notices.push(super::Notice { level: Level::Warning, fields });
            }
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        for role in self.roles_of(roles)? {
            if !all.contains(&role) {
                all.push(role);
            }
        }
        Ok(all)
    }

    /// The text of a condition as it is kept.
    fn policy_text(&self, table: &Table, said: Option<&(Expr, String)>) -> Result<Option<String>> {
        let Some((expr, text)) = said else { return Ok(None) };
        let catalog = self.catalog.ready();
        check_policy_condition(&catalog, table, expr)?;
        let mut temporary = false;
        visit::expr(expr, &mut |node| {
            if let Node::Relation(name) = node
                && let Ok(wanted) = names::wanted(&catalog, name)
            {
                let schema = catalog.table(wanted).map(|t| t.schema);
                temporary |= schema.is_some_and(|s| catalog.is_temporary(s));
            }
        });
        if temporary && !catalog.is_temporary(table.schema) {
            let message = "policies of permanent tables must not read temporary tables";
            return Err(Error::unsupported(message, "Use a permanent table."));
        }
        qualified_expression(&self.catalog, text).map(Some)
    }

    /// Changes the policies of a table, which stay in the order of their names.
    fn change_policies(&mut self, table: TableId, change: impl FnOnce(&mut Vec<Policy>)) {
        let policies = &mut self.table_mut(table).policies;
        change(policies);
        policies.sort_by(|a, b| a.name.cmp(&b.name));
    }

    pub(super) fn remove_policy(&mut self, table: TableId, name: &str) {
        self.change_policies(table, |all| all.retain(|p| p.name != name));
    }

    pub(super) fn alter_policy(
        &mut self,
        name: &str,
        table: &Name,
        if_exists: bool,
        change: &PolicyChange,
    ) -> Result<&'static str> {
        const TAG: &str = "ALTER POLICY";
        let table = match self.policy_table(table) {
            Err(missing) if if_exists && missing.sqlstate() == SqlState::UNDEFINED_TABLE => {
                self.skip_missing(&missing);
                return Ok(TAG);
            }
            table => table?,
        };
        match change {
            PolicyChange::Rename(to) => {
                if table.policy(to).is_some() {
                    return Err(exists(to, &table.name));
                }
                if table.policy(name).is_none() {
                    return Err(undefined(name, &table.name));
                }
                let object = |name: &str| oids::Object::Policy(table.id, name.to_owned());
                self.catalog.oids.rename(&object(name), object(to));
                self.change_policies(table.id, |all| {
                    all.iter_mut().filter(|p| p.name == name).for_each(|p| to.clone_into(&mut p.name));
                });
            }
            PolicyChange::Set { roles, using, check } => {
                let new_roles = self.policy_roles(roles)?;
                let new_using = self.policy_text(&table, using.as_ref())?;
                let new_check = self.policy_text(&table, check.as_ref())?;
                let policy = table.policy(name).ok_or_else(|| undefined(name, &table.name))?;
                match policy.command {
                    PolicyCommand::Select | PolicyCommand::Delete if new_check.is_some() => {
                        return Err(wrong_clause("only USING expression allowed for SELECT, DELETE"));
                    }
                    PolicyCommand::Insert if new_using.is_some() => {
                        return Err(wrong_clause("only WITH CHECK expression allowed for INSERT"));
                    }
                    _ => {}
                }
                self.change_policies(table.id, |all| {
                    for policy in all.iter_mut().filter(|p| p.name == name) {
                        if !roles.is_empty() {
                            policy.roles.clone_from(&new_roles);
                        }
                        policy.using = new_using.clone().or(policy.using.take());
                        policy.check = new_check.clone().or(policy.check.take());
                    }
                });
            }
        }
        Ok(TAG)
    }

    pub(super) fn drop_policy(&mut self, name: &str, table: &Name, if_exists: bool) -> Result<&'static str> {
        const TAG: &str = "DROP POLICY";
        let local = names::own_relation(&self.catalog, table);
        let found = local.and_then(|local| {
            let found = self.catalog.table(local).map(|t| (t.id, t.name.clone(), t.policy(name).is_some()));
            found.ok_or_else(|| match self.catalog.relation_exists(local) {
                true => undefined(name, local.local),
                false => names::no_relation(table),
            })
        });
        let (id, relation, is_there) = match found {
            Ok(found) => found,
            Err(error) if if_exists => {
                self.skip_missing(&error);
                return Ok(TAG);
            }
            Err(mut error) => {
                error.fields_mut().position = None;
                return Err(error);
            }
        };
        if !is_there {
            if !if_exists {
                return Err(undefined(name, &relation));
            }
            let message = format!("policy \"{name}\" for relation \"{relation}\" does not exist");
            self.skip_missing(&Error::new(SqlState::UNDEFINED_OBJECT, message));
            return Ok(TAG);
        }
        if !self.catalog.owns(self.actor.user, &Object::Table(id)) {
            let message = format!("must be owner of relation {relation}");
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        self.remove_policy(id, name);
        Ok(TAG)
    }

    pub(super) fn set_row_security(&mut self, id: TableId, enabled: Option<bool>, forced: Option<bool>) {
        let table = self.table_mut(id);
        table.row_security = enabled.unwrap_or(table.row_security);
        table.force_row_security = forced.unwrap_or(table.force_row_security);
    }

    /// Policies that are for a role, with their tables.
    pub(super) fn policies_for_role(&self, role: RoleId) -> Vec<(TableId, String)> {
        let tables = self.catalog.tables.iter().flatten();
        let of = |table: &Table| -> Vec<(TableId, String)> {
            let policies = table.policies.iter().filter(|p| p.roles.contains(&role));
            policies.map(|p| (table.id, p.name.clone())).collect()
        };
        tables.flat_map(|table| of(table)).collect()
    }

    /// DROP OWNED: the policies that are for a role are so no more; those that are for nobody else go.
    pub(super) fn drop_from_policies(&mut self, role: RoleId) {
        for (table, name) in self.policies_for_role(role) {
            self.change_policies(table, |all| {
                all.iter_mut().filter(|p| p.name == name).for_each(|p| p.roles.retain(|r| *r != role));
                // A list that was empty before is everybody's: it did not name the role.
                all.retain(|p| p.name != name || !p.roles.is_empty());
            });
        }
    }

    /// 0A000 where a policy names a column whose type is to change.
    pub(super) fn refuse_used_by_policies(&self, table: &Table, mentioned: &str, column: &str) -> Result<()> {
        for of in self.catalog.tables.iter().flatten() {
            for policy in &of.policies {
                for text in policy.texts() {
                    let named = References::of_text(text)?;
                    let about = of.id == table.id || named.relations.contains(mentioned);
                    if about && (named.star || named.columns.contains(column)) {
                        let message = "cannot alter type of a column used in a policy definition";
                        let detail = format!(
                            "policy {} on table {} depends on column \"{column}\"",
                            policy.name, of.name
                        );
                        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail));
                    }
                }
            }
        }
        Ok(())
    }

    /// 0A000 where a policy has a query that names a relation, or one of its columns, that is to be renamed: such a text
    /// is not rewritten.
    pub(super) fn refuse_named_by_policies(
        &self,
        own: Option<TableId>,
        mentioned: &str,
        column: Option<&str>,
        message: &str,
    ) -> Result<()> {
        for table in self.catalog.tables.iter().flatten() {
            for policy in &table.policies {
                for text in policy.texts() {
                    let named = References::of_text(text)?;
                    if named.relations.is_empty() {
                        continue;
                    }
                    let about = own == Some(table.id) || named.relations.contains(mentioned);
                    if about && column.is_none_or(|c| named.star || named.columns.contains(c)) {
                        let detail = format!(
                            "Policy \"{}\" of table \"{}\" names it in a query, and policies are kept as text.",
                            policy.name, table.name
                        );
                        let hint = "Drop the policy, make the change, create the policy again.";
                        return Err(Error::unsupported(message, hint).with_detail(detail));
                    }
                }
            }
        }
        Ok(())
    }
}
