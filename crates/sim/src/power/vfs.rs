//! A file system for SQLite that does what the usual one does, and keeps a log of it.
//!
//! Nothing is ever synced for real: power fails only on the log. Shared memory is not on any
//! disk, and passes through.

#![expect(
    unsafe_code,
    reason = "SQLite's file systems are tables of C functions; only this file has them"
)]

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    path::Path,
    ptr,
    sync::atomic::{AtomicU64, Ordering},
};

use steadfast_store::rusqlite::ffi::{self, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};

use super::disk_log::{DiskLog, Inode, Request, UNKNOWN};

/// A file system with a name and a log. It stays registered for as long as the process lives.
#[derive(Clone, Copy)]
pub struct Disk {
    pub name: &'static str,
    pub log: &'static DiskLog,
}

impl Disk {
    #[expect(clippy::new_without_default, reason = "each is registered for good")]
    pub fn new() -> Self {
        static DISKS: AtomicU64 = AtomicU64::new(0);
        let number = DISKS.fetch_add(1, Ordering::Relaxed);
        let name: &'static str = Box::leak(format!("steadfast-sim-{number}").into_boxed_str());
        let log: &'static DiskLog = Box::leak(Box::default());
        let c_name = CString::new(name).unwrap();
        // SAFETY: SQLite keeps the table for good, so it is leaked, as are its name and its log.
        // The table is a copy of the usual one; the functions that stay as they were do not look
        // at the table they are called with.
        unsafe {
            let usual = ffi::sqlite3_vfs_find(ptr::null());
            assert!(!usual.is_null(), "SQLite has a file system");
            let mut table = *usual;
            table.zName = c_name.into_raw();
            table.pNext = ptr::null_mut();
            table.szOsFile += SIZE;
            table.pAppData = ptr::from_ref(Box::leak(Box::new(Below { log, usual })))
                .cast_mut()
                .cast();
            table.xOpen = Some(open);
            table.xDelete = Some(delete);
            let registered = ffi::sqlite3_vfs_register(Box::leak(Box::new(table)), 0);
            assert_eq!(registered, ffi::SQLITE_OK, "cannot register {name}");
        }
        Self { name, log }
    }
}

/// What a table's functions work with.
struct Below {
    log: &'static DiskLog,
    usual: *mut sqlite3_vfs,
}

/// An open file, with the usual file system's own in the memory behind it.
#[repr(C)]
#[derive(Clone, Copy)]
struct File {
    methods: *const sqlite3_io_methods,
    log: *const DiskLog,
    inode: Inode,
    is_log: bool,
    syncs_directory: bool,
}

#[expect(clippy::cast_possible_truncation, reason = "a few dozen bytes")]
#[expect(clippy::cast_possible_wrap, reason = "a few dozen bytes")]
const SIZE: c_int = size_of::<File>() as c_int;

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    // The second version has shared memory, the third would map files behind the log's back.
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// The usual file system's part of a file.
fn real(file: *mut sqlite3_file) -> *mut sqlite3_file {
    file.cast::<File>().wrapping_add(1).cast()
}

/// Functions that only pass on what they are asked.
macro_rules! passed_on {
    ($($function:ident = $method:ident($($name:ident: $type:ty),*);)+) => {$(
        unsafe extern "C" fn $function(file: *mut sqlite3_file $(, $name: $type)*) -> c_int {
            let real = real(file);
            // SAFETY: SQLite calls this only with files that `open` has opened.
            unsafe {
                match (*(*real).pMethods).$method {
                    Some(method) => method(real $(, $name)*),
                    None => ffi::SQLITE_IOERR,
                }
            }
        }
    )+};
}

passed_on! {
    close = xClose();
    read = xRead(to: *mut c_void, count: c_int, at: i64);
    really_write = xWrite(from: *const c_void, count: c_int, at: i64);
    really_truncate = xTruncate(length: i64);
    file_size = xFileSize(size: *mut i64);
    lock = xLock(level: c_int);
    unlock = xUnlock(level: c_int);
    check_reserved_lock = xCheckReservedLock(answer: *mut c_int);
    file_control = xFileControl(verb: c_int, argument: *mut c_void);
    sector_size = xSectorSize();
    device_characteristics = xDeviceCharacteristics();
    shm_map = xShmMap(page: c_int, size: c_int, extend: c_int, to: *mut *mut c_void);
    shm_lock = xShmLock(offset: c_int, count: c_int, flags: c_int);
    shm_unmap = xShmUnmap(delete: c_int);
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    let real = real(file);
    // SAFETY: SQLite calls this only with files that `open` has opened.
    unsafe {
        if let Some(method) = (*(*real).pMethods).xShmBarrier {
            method(real);
        }
    }
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    path: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: the table is one of `Disk::new`; the path is null or ends with a zero; the
    // memory at `file` is as large as the table asks for.
    unsafe {
        let below = &*(*vfs).pAppData.cast::<Below>();
        let opened = file.cast::<File>();
        (*opened).methods = ptr::null();
        let name = file_name(path);
        let is_new = name.is_some() && !exists(path);
        let creates = flags & ffi::SQLITE_OPEN_CREATE != 0;
        if is_new
            && creates
            && let Err(code) = below.log.ask(Request::Open, Inode::MAX)
        {
            return code;
        }
        let Some(usual) = (*below.usual).xOpen else {
            return ffi::SQLITE_CANTOPEN;
        };
        let code = usual(below.usual, path, real(file), flags, flags_out);
        if code != ffi::SQLITE_OK {
            return code;
        }
        let journals = ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_WAL;
        let inode = name.map_or(UNKNOWN, |name| below.log.opened(&name, is_new));
        opened.write(File {
            methods: &raw const METHODS,
            log: below.log,
            inode,
            is_log: flags & ffi::SQLITE_OPEN_WAL != 0,
            syncs_directory: creates && flags & journals != 0,
        });
        code
    }
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, path: *const c_char, sync: c_int) -> c_int {
    // SAFETY: the table is one of `Disk::new`, and the path ends with a zero.
    unsafe {
        let below = &*(*vfs).pAppData.cast::<Below>();
        let (Some(usual), Some(name)) = ((*below.usual).xDelete, file_name(path)) else {
            return ffi::SQLITE_IOERR_DELETE;
        };
        if let Err(code) = below.log.ask(Request::Delete, Inode::MAX) {
            return code;
        }
        let code = usual(below.usual, path, 0);
        if code == ffi::SQLITE_OK {
            below.log.deleted(&name, sync != 0);
        }
        code
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    from: *const c_void,
    count: c_int,
    at: i64,
) -> c_int {
    // SAFETY: the file is one that `open` has opened, and there are `count` bytes at `from`.
    unsafe {
        let File { log, inode, .. } = *file.cast::<File>();
        let bytes = std::slice::from_raw_parts(from.cast::<u8>(), usize_of(count.into()));
        let asked = (*log).ask(Request::Write, inode);
        // A disk that is full takes a part of what it is given.
        let count = if asked.is_ok() { count } else { count / 2 };
        let code = really_write(file, from, count, at);
        if code == ffi::SQLITE_OK {
            (*log).wrote(inode, usize_of(at), &bytes[..usize_of(count.into())]);
        }
        asked.err().unwrap_or(code)
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, length: i64) -> c_int {
    // SAFETY: the file is one that `open` has opened.
    unsafe {
        let File { log, inode, .. } = *file.cast::<File>();
        if let Err(code) = (*log).ask(Request::Cut, inode) {
            return code;
        }
        let code = really_truncate(file, length);
        if code == ffi::SQLITE_OK {
            (*log).cut(inode, usize_of(length));
        }
        code
    }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: the file is one that `open` has opened, and no other call uses it meanwhile.
    unsafe {
        let file = &mut *file.cast::<File>();
        if let Err(code) = (*file.log).ask(Request::Sync, file.inode) {
            return code;
        }
        let with_directory = std::mem::take(&mut file.syncs_directory);
        (*file.log).synced(file.inode, file.is_log, with_directory);
        ffi::SQLITE_OK
    }
}

/// # Safety
///
/// The path is null or ends with a zero.
unsafe fn file_name(path: *const c_char) -> Option<String> {
    if path.is_null() {
        return None;
    }
    // SAFETY: the caller says so.
    let path = unsafe { CStr::from_ptr(path) }.to_str().ok()?;
    Some(Path::new(path).file_name()?.to_str()?.to_owned())
}

/// # Safety
///
/// The path is null or ends with a zero.
unsafe fn exists(path: *const c_char) -> bool {
    // SAFETY: the caller says so.
    let path = (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) }.to_str());
    path.is_some_and(|path| path.is_ok_and(|path| Path::new(path).exists()))
}

fn usize_of(number: i64) -> usize {
    usize::try_from(number).unwrap_or_default()
}
