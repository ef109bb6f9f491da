//! Traits that say more of a type of ours, to those who import them, are implemented here only.

use crate::checkpoint::Restore;
use crate::{Database, Options, Session, Statement, Ticket};

/// Nobody else can name it.
pub trait Sealed {}

impl Sealed for Database {}
impl Sealed for Options {}
impl Sealed for Restore {}
impl Sealed for Session {}
impl Sealed for Statement {}
impl Sealed for Ticket {}
