//! Memory for nodes: one pool per node size for the whole process, carved from [chunks](crate::chunk).
//!
//! Huge pages save the TLB miss that would come with almost every random access (12 to 27 % of a
//! lookup at ten million entries). A freed node goes to the pool's free list and serves the next
//! node of that size, of whatever tree; pages are not given back to the system. A lock per
//! allocation is cheap beside the split that asked for it.
//!
//! With `--cfg blocks_apart`, and under Miri, nodes come from the global allocator one by one, so that
//! an address sanitizer sees their borders and their ends.

#![allow(unsafe_code)] // hands out raw memory

use std::alloc::Layout;

/// Memory for one node: uninitialised. `layout` has a size that is a multiple of 64 and alignment 64.
pub(super) fn allocate(layout: Layout) -> *mut u8 {
    imp::allocate(layout)
}

/// Takes a node's memory back.
///
/// # Safety
/// `node` came from [`allocate`] with the same layout and nobody uses it any more.
pub(super) unsafe fn deallocate(node: *mut u8, layout: Layout) {
    // SAFETY: as promised by the caller.
    unsafe { imp::deallocate(node, layout) }
}

#[cfg(any(blocks_apart, miri, loom, not(target_os = "linux")))]
mod imp {
    use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};

    pub(super) fn allocate(layout: Layout) -> *mut u8 {
        // SAFETY: no node is empty.
        let node = unsafe { alloc(layout) };
        if node.is_null() {
            handle_alloc_error(layout)
        }
        node
    }

    /// # Safety
    /// `node` came from `allocate` with this layout and nobody uses it any more.
    pub(super) unsafe fn deallocate(node: *mut u8, layout: Layout) {
        // SAFETY: as promised by the caller.
        unsafe { dealloc(node, layout) }
    }
}

#[cfg(not(any(blocks_apart, miri, loom, not(target_os = "linux"))))]
mod imp {
    use crate::chunk::{self, CHUNK};
    use std::alloc::Layout;
    use std::ptr::null_mut;
    use std::sync::Mutex;

    const LINE: usize = 64;
    /// Largest node.
    const SIZE_MAX: usize = 4096;

    struct Pool {
        /// Freed nodes; the first word of each points to the next.
        free: *mut u8,
        fresh: *mut u8,
        fresh_bytes: usize,
    }

    // SAFETY: the pool owns the memory that it points to; a mutex guards it.
    unsafe impl Send for Pool {}

    static POOLS: [Mutex<Pool>; SIZE_MAX / LINE + 1] =
        [const { Mutex::new(Pool { free: null_mut(), fresh: null_mut(), fresh_bytes: 0 }) };
            SIZE_MAX / LINE + 1];

    fn pool(layout: Layout) -> &'static Mutex<Pool> {
        assert!(layout.align() == LINE && layout.size().is_multiple_of(LINE));
        &POOLS[layout.size() / LINE]
    }

    pub(super) fn allocate(layout: Layout) -> *mut u8 {
        let mut pool = pool(layout).lock().unwrap();
        if !pool.free.is_null() {
            let node = pool.free;
            // SAFETY: a free node's first word points to the next free node (see `deallocate`).
            pool.free = unsafe { node.cast::<*mut u8>().read() };
            return node;
        }
        if pool.fresh_bytes < layout.size() {
            pool.fresh = chunk::take();
            pool.fresh_bytes = CHUNK;
        }
        let node = pool.fresh;
        // SAFETY: `fresh_bytes` bytes from `fresh` are ours, at least one node of them.
        pool.fresh = unsafe { node.add(layout.size()) };
        pool.fresh_bytes -= layout.size();
        node
    }

    /// # Safety
    /// `node` came from `allocate` with this layout and nobody uses it any more.
    pub(super) unsafe fn deallocate(node: *mut u8, layout: Layout) {
        let mut pool = pool(layout).lock().unwrap();
        // SAFETY: the caller gives the node up; it is larger than a pointer and aligned.
        unsafe { node.cast::<*mut u8>().write(pool.free) };
        pool.free = node;
    }
}
