//! Stand-in, filled in next.

impl super::Numeric {
    /// stub
    pub fn power(self, _e: super::Numeric) -> crate::Result<super::Numeric> { Err(crate::Error::unsupported("power", "")) }
}
