# The LD_PRELOAD shim: C, libc only, never sanitized. memtrack_shim_core is what needs no hook to be tested: the ring's
# producer, the session, the readers of /proc, the arena.
add_library(memtrack_shim_options INTERFACE)
target_compile_options(memtrack_shim_options INTERFACE
  -std=gnu11 -O2 -Wconversion
  -fvisibility=hidden
  -ftls-model=initial-exec
  -fno-builtin                   # no malloc + memset becomes calloc
  -fno-optimize-sibling-calls    # a real function must see the shim as its caller
  -fno-stack-protector)
target_compile_definitions(memtrack_shim_options INTERFACE _GNU_SOURCE)
target_link_libraries(memtrack_shim_options INTERFACE memtrack_options)

set(MEMTRACK_SHIM_CORE_SOURCES
  shim_arena.c
  shim_environment.c
  shim_notice.c
  shim_proc.c
  shim_ring.c
  shim_session.c
  shim_thread.c)
add_library(memtrack_shim_core OBJECT ${MEMTRACK_SHIM_CORE_SOURCES})
target_link_libraries(memtrack_shim_core PRIVATE memtrack_shim_options)

# The same for the unit tests, where sanitizers are welcome.
add_library(memtrack_shim_core_checked OBJECT EXCLUDE_FROM_ALL ${MEMTRACK_SHIM_CORE_SOURCES})
target_link_libraries(memtrack_shim_core_checked PRIVATE memtrack_shim_options memtrack_sanitize)

add_library(memtrack_shim SHARED
  shim_asan.c
  shim_exec.c
  shim_heap.c
  shim_jump.c
  shim_mmap.c
  shim_process.c
  shim_real.c)
target_link_libraries(memtrack_shim PRIVATE memtrack_shim_core memtrack_shim_options)
target_link_options(memtrack_shim PRIVATE
  -Wl,-z,now        # a hook never enters the loader
  -Wl,-z,nodelete   # threads keep its destructor
  -Wl,-z,defs)
set_target_properties(memtrack_shim PROPERTIES
  OUTPUT_NAME memtrack_preload
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
