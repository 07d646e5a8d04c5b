//! The few calls of NVIDIA's driver that rows on a card need, behind functions that cannot be
//! misused.
//!
//! The driver's library is looked for when the first card is opened: nothing of it is needed to
//! build, and a machine without it gets an error. Kernels run in the memory of the card, which
//! holds nothing of this process: an address that is wrong there ends in an error of the driver.

#![allow(unsafe_code, reason = "calls of a foreign library, and page-locked memory that it owns")]

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    ptr::null_mut,
    sync::{Arc, OnceLock},
};

use crate::CardError;

type Code = c_int;
type Handle = *mut c_void;
type Address = u64;

/// Declares the functions that are used, and how they are found.
macro_rules! functions {
    ($($name:ident = $symbol:literal ($($argument:ty),*);)+) => {
        struct Driver {
            $($name: unsafe extern "system" fn($($argument),*) -> Code,)+
        }

        impl Driver {
            fn load() -> Result<Driver, CardError> {
                let library = library::open().ok_or(CardError::NoDriver)?;
                // SAFETY: the signatures are those of the driver's header `cuda.h`, which a name
                // with its version stands for.
                Ok(Driver {
                    $($name: unsafe {
                        std::mem::transmute::<Handle, unsafe extern "system" fn($($argument),*) -> Code>(library::symbol(library, $symbol).ok_or(CardError::OldDriver)?)
                    },)+
                })
            }
        }
    };
}

functions! {
    init = c"cuInit" (c_uint);
    device_count = c"cuDeviceGetCount" (*mut c_int);
    device_get = c"cuDeviceGet" (*mut c_int, c_int);
    device_name = c"cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_attribute = c"cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    context_retain = c"cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    context_release = c"cuDevicePrimaryCtxRelease_v2" (c_int);
    context_use = c"cuCtxSetCurrent" (Handle);
    memory_info = c"cuMemGetInfo_v2" (*mut usize, *mut usize);
    memory_take = c"cuMemAlloc_v2" (*mut Address, usize);
    memory_free = c"cuMemFree_v2" (Address);
    memory_fill = c"cuMemsetD8Async" (Address, u8, usize, Handle);
    host_take = c"cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
    host_free = c"cuMemFreeHost" (*mut c_void);
    copy_to = c"cuMemcpyHtoDAsync_v2" (Address, *const c_void, usize, Handle);
    copy_from = c"cuMemcpyDtoHAsync_v2" (*mut c_void, Address, usize, Handle);
    stream_create = c"cuStreamCreate" (*mut Handle, c_uint);
    stream_wait = c"cuStreamSynchronize" (Handle);
    module_load = c"cuModuleLoadData" (*mut Handle, *const c_void);
    module_function = c"cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    function_set = c"cuFuncSetAttribute" (Handle, c_int, c_int);
    launch = c"cuLaunchKernel" (
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
    );
}

/// The driver's library, and what it has by name.
#[cfg(unix)]
mod library {
    use super::{CStr, Handle};

    pub(crate) fn open() -> Option<Handle> {
        // SAFETY: the name is a C string, and the library is never closed.
        let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
        (!library.is_null()).then_some(library)
    }

    pub(crate) fn symbol(library: Handle, name: &CStr) -> Option<Handle> {
        // SAFETY: the library is open, and the name is a C string.
        let found = unsafe { libc::dlsym(library, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }
}

/// The driver's library, and what it has by name.
#[cfg(windows)]
mod library {
    use super::{CStr, Handle, c_char, null_mut};

    /// Only in the system's own folder: not in that of the program, nor in the current one, where
    /// anybody may have put a file of this name.
    const SYSTEM_FOLDER: u32 = 0x800;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn LoadLibraryExA(name: *const c_char, reserved: Handle, flags: u32) -> Handle;
        fn GetProcAddress(library: Handle, name: *const c_char) -> Handle;
    }

    pub(crate) fn open() -> Option<Handle> {
        // SAFETY: the name is a C string, and the library is never closed.
        let library = unsafe { LoadLibraryExA(c"nvcuda.dll".as_ptr(), null_mut(), SYSTEM_FOLDER) };
        (!library.is_null()).then_some(library)
    }

    pub(crate) fn symbol(library: Handle, name: &CStr) -> Option<Handle> {
        // SAFETY: the library is open, and the name is a C string.
        let found = unsafe { GetProcAddress(library, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }
}

fn driver() -> Result<&'static Driver, CardError> {
    static DRIVER: OnceLock<Result<Driver, CardError>> = OnceLock::new();
    DRIVER.get_or_init(Driver::load).as_ref().map_err(Clone::clone)
}

const OUT_OF_MEMORY: Code = 2;
const NO_DEVICE: Code = 100;
const UNSUPPORTED_PTX: Code = 222;

fn check(call: &'static str, code: Code) -> Result<(), CardError> {
    match code {
        0 => Ok(()),
        OUT_OF_MEMORY => Err(CardError::OutOfMemory),
        NO_DEVICE => Err(CardError::NoCard),
        UNSUPPORTED_PTX => Err(CardError::OldDriver),
        code => Err(CardError::Failed { call, code }),
    }
}

/// What a card has.
#[derive(Clone, Debug)]
pub(crate) struct Traits {
    pub(crate) name: String,
    /// The compute capability: 8 for Ampere, 9 for Hopper.
    pub(crate) capability: i32,
    pub(crate) multiprocessors: u32,
    /// Bytes of shared memory that a block of threads can have.
    pub(crate) shared: usize,
}

/// The first card, and two queues of work on it.
pub(crate) struct Context {
    driver: &'static Driver,
    device: c_int,
    context: Handle,
    streams: [Handle; 2],
    pub(crate) traits: Traits,
}

// SAFETY: the driver's handles may be used from any thread; a context is made current on the thread
// that uses it.
unsafe impl Send for Context {}
// SAFETY: as above, and the driver locks what threads share.
unsafe impl Sync for Context {}

/// Which queue; work of one is done in order.
#[derive(Clone, Copy)]
pub(crate) struct Queue(pub(crate) usize);

const MULTIPROCESSORS: c_int = 16;
const CAPABILITY: c_int = 75;
const SHARED: c_int = 97;
const MOST_DYNAMIC_SHARED: c_int = 8;

impl Context {
    pub(crate) fn open() -> Result<Arc<Context>, CardError> {
        let driver = driver()?;
        let (mut count, mut device, mut context, mut name) = (0, 0, null_mut(), [0u8; 128]);
        let mut streams = [null_mut(); 2];
        // SAFETY: every pointer is to a variable of the type that the call writes, and the name has
        // as many bytes as is said.
        unsafe {
            check("cuInit", (driver.init)(0))?;
            check("cuDeviceGetCount", (driver.device_count)(&raw mut count))?;
            if count == 0 {
                return Err(CardError::NoCard);
            }
            check("cuDeviceGet", (driver.device_get)(&raw mut device, 0))?;
            check("cuDeviceGetName", (driver.device_name)(name.as_mut_ptr().cast(), name.len() as c_int, device))?;
            check("cuDevicePrimaryCtxRetain", (driver.context_retain)(&raw mut context, device))?;
            check("cuCtxSetCurrent", (driver.context_use)(context))?;
            for stream in &mut streams {
                check("cuStreamCreate", (driver.stream_create)(&raw mut *stream, 1))?;
            }
        }
        let attribute = |which: c_int| {
            let mut value = 0;
            // SAFETY: the call writes one number.
            check("cuDeviceGetAttribute", unsafe { (driver.device_attribute)(&raw mut value, which, device) })?;
            Ok(value)
        };
        let traits = Traits {
            name: CStr::from_bytes_until_nul(&name)
                .map_or_else(|_| String::new(), |name| name.to_string_lossy().into()),
            capability: attribute(CAPABILITY)?,
            multiprocessors: attribute(MULTIPROCESSORS)?.unsigned_abs(),
            shared: attribute(SHARED)?.unsigned_abs() as usize,
        };
        Ok(Arc::new(Context { driver, device, context, streams, traits }))
    }

    fn enter(&self) -> Result<(), CardError> {
        // SAFETY: the context is kept until this value is dropped.
        check("cuCtxSetCurrent", unsafe { (self.driver.context_use)(self.context) })
    }

    /// Bytes of free memory.
    pub(crate) fn free(&self) -> Result<u64, CardError> {
        self.enter()?;
        let (mut free, mut all) = (0, 0);
        // SAFETY: the call writes two numbers.
        check("cuMemGetInfo", unsafe { (self.driver.memory_info)(&raw mut free, &raw mut all) })?;
        Ok(free as u64)
    }

    /// Waits until all work of a queue is done.
    pub(crate) fn wait(&self, queue: Queue) -> Result<(), CardError> {
        self.enter()?;
        // SAFETY: the stream is the context's.
        check("cuStreamSynchronize", unsafe { (self.driver.stream_wait)(self.streams[queue.0]) })
    }

    /// The function of a module that has no other, in the language of the driver.
    pub(crate) fn compile(&self, text: &CStr, name: &CStr, shared: usize) -> Result<Function, CardError> {
        self.enter()?;
        let (mut module, mut function) = (null_mut(), null_mut());
        // SAFETY: text and name are C strings; modules stay until the context is gone.
        unsafe {
            check("cuModuleLoadData", (self.driver.module_load)(&raw mut module, text.as_ptr().cast()))?;
            check("cuModuleGetFunction", (self.driver.module_function)(&raw mut function, module, name.as_ptr()))?;
            if shared > 0 {
                let set = (self.driver.function_set)(function, MOST_DYNAMIC_SHARED, shared as c_int);
                check("cuFuncSetAttribute", set)?;
            }
        }
        Ok(Function(function))
    }

    /// Runs a kernel. Each argument is given as words, as many as the kernel declares for it.
    pub(crate) fn run(&self, function: &Function, shape: Shape, arguments: &[&[u64]]) -> Result<(), CardError> {
        self.enter()?;
        let mut pointers: Vec<*mut c_void> = arguments.iter().map(|words| words.as_ptr().cast_mut().cast()).collect();
        let Shape { blocks: (x, y), threads, shared } = shape;
        // SAFETY: the driver copies the arguments before it returns, as many bytes of each as the
        // kernel declares; and kernels stay in the memory of the card.
        let code = unsafe {
            (self.driver.launch)(
                function.0,
                x,
                y,
                1,
                threads,
                1,
                1,
                shared as c_uint,
                self.streams[0],
                pointers.as_mut_ptr(),
                null_mut(),
            )
        };
        check("cuLaunchKernel", code)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: nothing that was made in the context is left: each such value keeps it.
        let _ = unsafe { (self.driver.context_release)(self.device) };
    }
}

/// A kernel that is ready to run.
pub(crate) struct Function(Handle);

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Function {}
// SAFETY: as above; it is only read.
unsafe impl Sync for Function {}

/// How many blocks of threads, of how many threads and with how many bytes of shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) blocks: (u32, u32),
    pub(crate) threads: u32,
    pub(crate) shared: usize,
}

/// Numbers that are the same bytes on both sides.
///
/// # Safety
/// Any bytes must be a value.
pub(crate) unsafe trait Plain: Copy + Default {}
// SAFETY: any bytes are a number.
unsafe impl Plain for f32 {}
// SAFETY: any bytes are a number.
unsafe impl Plain for f64 {}
// SAFETY: any bytes are a number.
unsafe impl Plain for u64 {}

/// Memory of the card.
pub(crate) struct Memory {
    context: Arc<Context>,
    address: Address,
    bytes: usize,
}

impl Memory {
    pub(crate) fn take(context: &Arc<Context>, bytes: usize) -> Result<Memory, CardError> {
        context.enter()?;
        let mut address = 0;
        // SAFETY: the call writes one address.
        check("cuMemAlloc", unsafe { (context.driver.memory_take)(&raw mut address, bytes.max(1)) })?;
        Ok(Memory { context: context.clone(), address, bytes })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The address `offset` bytes after the start, as an argument.
    pub(crate) fn at(&self, offset: usize) -> u64 {
        assert!(offset <= self.bytes, "an address inside");
        self.address + offset as u64
    }

    pub(crate) fn clear(&self, bytes: usize) -> Result<(), CardError> {
        assert!(bytes <= self.bytes, "bytes inside");
        self.context.enter()?;
        // SAFETY: the bytes are this memory's.
        let code = unsafe { (self.context.driver.memory_fill)(self.address, 0, bytes, self.context.streams[0]) };
        check("cuMemsetD8Async", code)
    }

    /// Begins to copy the first numbers of a buffer here; it must be left alone until the queue is
    /// waited for, which what borrows it mutably does.
    pub(crate) fn fill<T: Plain>(
        &self,
        offset: usize,
        from: &Pinned<T>,
        length: usize,
        queue: Queue,
    ) -> Result<(), CardError> {
        let bytes = length * size_of::<T>();
        assert!(length <= from.length && offset + bytes <= self.bytes, "numbers of both sides");
        self.context.enter()?;
        // SAFETY: both sides have this many bytes.
        let code = unsafe {
            let stream = self.context.streams[queue.0];
            (self.context.driver.copy_to)(self.address + offset as u64, from.start.cast(), bytes, stream)
        };
        check("cuMemcpyHtoDAsync", code)
    }

    /// Copies numbers from here, after the work of the first queue.
    pub(crate) fn read<T: Plain>(&self, offset: usize, to: &mut Pinned<T>, length: usize) -> Result<(), CardError> {
        let bytes = length * size_of::<T>();
        assert!(length <= to.length && offset + bytes <= self.bytes, "numbers of both sides");
        self.context.enter()?;
        // SAFETY: both sides have this many bytes, and the copy is waited for while the buffer is
        // borrowed.
        let code = unsafe {
            let stream = self.context.streams[0];
            (self.context.driver.copy_from)(to.start.cast(), self.address + offset as u64, bytes, stream)
        };
        check("cuMemcpyDtoHAsync", code)?;
        self.context.wait(Queue(0))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // An error here would be one of earlier work, which reported it.
        if self.context.enter().is_ok() {
            // SAFETY: the memory was taken in this context, and is freed once.
            let _ = unsafe { (self.context.driver.memory_free)(self.address) };
        }
    }
}

/// Page-locked memory of this machine, which the card copies from and to by itself.
pub(crate) struct Pinned<T> {
    context: Arc<Context>,
    start: *mut T,
    length: usize,
}

// SAFETY: it owns its memory, as a vector does.
unsafe impl<T: Send> Send for Pinned<T> {}

impl<T: Plain> Pinned<T> {
    pub(crate) fn take(context: &Arc<Context>, length: usize) -> Result<Pinned<T>, CardError> {
        context.enter()?;
        let mut start = null_mut();
        let bytes = length.max(1) * size_of::<T>();
        // SAFETY: the call writes one address.
        check("cuMemHostAlloc", unsafe { (context.driver.host_take)(&raw mut start, bytes, 0) })?;
        let start = start.cast::<T>();
        // SAFETY: there is room for `length` numbers, pages are aligned, and zeros are numbers.
        unsafe { start.write_bytes(0, length) };
        Ok(Pinned { context: context.clone(), start, length })
    }

    pub(crate) fn numbers(&self) -> &[T] {
        // SAFETY: there are `length` numbers.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }

    /// To write to, once a queue that may still copy from here is done.
    pub(crate) fn numbers_mut(&mut self, queue: Queue) -> Result<&mut [T], CardError> {
        self.context.wait(queue)?;
        // SAFETY: there are `length` numbers, and nothing else uses them.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.start, self.length) })
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        for queue in [Queue(0), Queue(1)] {
            let _ = self.context.wait(queue);
        }
        // SAFETY: the memory was taken in this context, no copy is under way, and it is freed once.
        let _ = unsafe { (self.context.driver.host_free)(self.start.cast()) };
    }
}

const _: () = assert!(size_of::<*const ()>() == size_of::<u64>(), "addresses are words");
