#include "preload/shim_real.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "preload/shared_segment.h"
#include "preload/shim_process.h"

struct shim_real shim_real;
struct shim_range shim_own_text;
struct shim_range shim_allocator_text;
const char* shim_own_path = "";

static void resolve(void* member, const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  memcpy(member, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */
}

/* The executable segment of `info` that holds `address`; {0, 0} if none does. */
static struct shim_range text_with(const struct dl_phdr_info* info, uintptr_t address) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0) continue;
    if (address - begin < segment->p_memsz) return (struct shim_range){begin, segment->p_memsz};
  }
  return (struct shim_range){0, 0};
}

static int look_at_object(struct dl_phdr_info* info, size_t bytes, void* unused) {
  (void)bytes;
  (void)unused;
  const struct shim_range own = text_with(info, (uintptr_t)shim_real_resolve);
  if (own.bytes != 0) {
    shim_own_text = own;
    shim_own_path = info->dlpi_name;
  }
  const struct shim_range allocator = text_with(info, (uintptr_t)shim_real.malloc);
  /* The C library's allocator calls no hook, but much else in there does: fopen, getline, ... */
  const bool is_libc = text_with(info, (uintptr_t)shim_real.fork).bytes != 0;
  if (allocator.bytes != 0 && !is_libc) shim_allocator_text = allocator;
  return 0;
}

void shim_real_resolve(void) {
  resolve(&shim_real.malloc, "malloc");
  resolve(&shim_real.free, "free");
  resolve(&shim_real.calloc, "calloc");
  resolve(&shim_real.realloc, "realloc");
  resolve(&shim_real.aligned_alloc, "aligned_alloc");
  resolve(&shim_real.posix_memalign, "posix_memalign");
  resolve(&shim_real.memalign, "memalign");
  resolve(&shim_real.valloc, "valloc");
  resolve(&shim_real.pvalloc, "pvalloc");
  resolve(&shim_real.mmap, "mmap");
  resolve(&shim_real.mmap64, "mmap64");
  resolve(&shim_real.munmap, "munmap");
  resolve(&shim_real.mremap, "mremap");
  resolve(&shim_real.brk, "brk");
  resolve(&shim_real.sbrk, "sbrk");
  resolve(&shim_real.fork, "fork");
  resolve(&shim_real.longjmp, "siglongjmp");
  resolve(&shim_real.longjmp_chk, "__longjmp_chk");
  resolve(&shim_real.execve, "execve");
  resolve(&shim_real.execvpe, "execvpe");
  resolve(&shim_real.fexecve, "fexecve");
  resolve(&shim_real.execveat, "execveat");
  resolve(&shim_real.posix_spawn, "posix_spawn");
  resolve(&shim_real.posix_spawnp, "posix_spawnp");
  resolve(&shim_real.system, "system");
  resolve(&shim_real.popen, "popen");
  resolve(&shim_real.cfree, "cfree");
  resolve(&shim_real.free_sized, "free_sized");
  resolve(&shim_real.free_aligned_sized, "free_aligned_sized");
  dlerror(); /* the program's next dlerror must not tell of the names that are missing here; */
  dlerror(); /* this one drops the text */
  dl_iterate_phdr(look_at_object, NULL);
}

struct object_search {
  uintptr_t address;
  const char* path;
};

static int look_for_object(struct dl_phdr_info* info, size_t bytes, void* data) {
  (void)bytes;
  struct object_search* search = (struct object_search*)data;
  if (text_with(info, search->address).bytes != 0) search->path = info->dlpi_name;
  return 0;
}

struct shim_bypass shim_real_find_bypass(void) {
  struct shim_bypass found = {NULL, 0};
  struct object_search search = {(uintptr_t)dlsym(RTLD_DEFAULT, "malloc"), ""};
  const uintptr_t operator_new = (uintptr_t)dlsym(RTLD_DEFAULT, "_Znwm");
  dlerror();
  dlerror();
  if (shim_malloc_is_bypassed()) {
    found.flags = MT_BYPASS_MALLOC;
  } else if (operator_new - shim_allocator_text.begin < shim_allocator_text.bytes) {
    found.flags = MT_BYPASS_NEW;
    search.address = operator_new;
  } else {
    return found;
  }
  dl_iterate_phdr(look_for_object, &search);
  found.path = search.path;
  return found;
}
