//! The `steadfast` binary.

use std::process::ExitCode;

/// Jobs are many small allocations, made on one thread and freed on another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    steadfast_cli::main()
}
