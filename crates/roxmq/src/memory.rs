//! The process's memory: which allocator it has, and how what was freed gets back to the system.

use std::time::Duration;

/// Much of what is allocated for a message has a kilobyte and more, and is freed by another thread: the system's
/// allocator takes a third of the time of a send over gRPC.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Longer than the allocator itself waits with what was freed, for somebody who wants it again (1 s).
const PERIOD: Duration = Duration::from_secs(2);

/// Lets the allocator give back what was freed long enough ago. It only looks when it is asked for something, so a server
/// would keep what its start or its last busy second took, for as long as it has nothing to do.
pub async fn give_back_what_is_free() {
    loop {
        tokio::time::sleep(PERIOD).await;
        give_back();
    }
}

#[expect(unsafe_code, reason = "the allocator's crate has no safe way to ask for it")]
fn give_back() {
    // SAFETY: it may be called by every thread at any time, and touches nothing that is in use.
    unsafe { libmimalloc_sys::mi_collect(false) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::server_cost::ServerCost;
    use std::time::Instant;

    #[test]
    fn what_was_freed_goes_back_to_the_system() {
        const MIB: usize = 64;
        let before = ServerCost::start("", Some(std::process::id())).expect("this process is to be seen");
        let grown_mib = || before.finish().expect("this process is to be seen").growth_mib;
        let pieces: Vec<Vec<u8>> = (0..MIB << 8).map(|_| vec![1; 1 << 12]).collect();
        assert!(grown_mib() >= MIB as f64);
        drop(pieces);
        let deadline = Instant::now() + Duration::from_secs(20);
        while grown_mib() > MIB as f64 / 4.0 {
            assert!(Instant::now() < deadline, "{} MiB more than before", grown_mib());
            std::thread::sleep(Duration::from_millis(100));
            give_back();
        }
    }
}
