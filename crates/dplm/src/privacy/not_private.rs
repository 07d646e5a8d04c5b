//! A mark on numbers that were never released.

use std::fmt;

/// A number computed from rows that was never released.
///
/// It carries no noise and costs no budget, so nothing may be promised about it. Only someone who
/// may see the rows anyway may look at it; code that takes it out says so with
/// [`into_inner`](Self::into_inner), a word one can search for.
///
/// # Guarantee
/// It cannot be serialised or displayed, and its `Debug` prints nothing of the content.
///
/// ```compile_fail
/// fn save(value: impl serde::Serialize) {}
/// save(dplm::privacy::NotPrivate::new(1.0));
/// ```
///
/// # Examples
/// ```
/// let mean = dplm::privacy::NotPrivate::new(12.5);
/// assert_eq!(format!("{mean:?}"), "NotPrivate(..)");
/// assert_eq!(mean.into_inner(), 12.5);
/// ```
pub struct NotPrivate<T>(T);

impl<T> NotPrivate<T> {
    /// Marks a value as computed from rows.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Takes the value out. From here on nothing remembers that it is not private.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> AsRef<T> for NotPrivate<T> {
    fn as_ref(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for NotPrivate<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NotPrivate(..)")
    }
}
