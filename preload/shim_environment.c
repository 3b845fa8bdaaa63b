#include "preload/shim_environment.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/shared_segment.h"
#include "preload/shim_session.h"

static const char kPreload[] = "LD_PRELOAD=";
static const char kSegment[] = MT_SEGMENT_ENV "=";
enum { kPreloadBytes = sizeof kPreload - 1, kSegmentBytes = sizeof kSegment - 1 };

static char library[PATH_MAX];
static size_t library_bytes; /* 0: not known */
static char segment_variable[kSegmentBytes + PATH_MAX];

/* One mapping a thread. A vfork child works on its parent's: what it leaves behind when it succeeds is found here. The
 * process is noted, so that a signal handler does not take the mapping that it interrupted somebody with. */
struct scratch {
  void* memory;
  uint32_t pages;
  int32_t used_by;
};
static __thread struct scratch scratch __attribute__((tls_model("initial-exec")));

enum {
  kPageBytes = 4096,
  kLongestArgument = 32 * kPageBytes, /* of a program: the kernel's MAX_ARG_STRLEN */
};

static int32_t current_pid(void) {
  return (int32_t)shim_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static void* map_pages(size_t bytes) {
  const long memory =
      shim_syscall(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return shim_failed(memory) ? NULL : (void*)(uintptr_t)memory;
}

static void unmap(void* memory, size_t bytes) {
  shim_syscall(SYS_munmap, (long)(uintptr_t)memory, (long)bytes, 0, 0, 0, 0);
}

static void* take_memory(struct shim_environment* made, size_t bytes) {
  const size_t pages = (bytes + kPageBytes - 1U) / kPageBytes;
  const int32_t self = current_pid();
  made->memory_bytes = pages * kPageBytes;
  if (scratch.used_by == self || pages > UINT32_MAX) {
    made->memory = map_pages(made->memory_bytes);
    return made->memory;
  }
  scratch.used_by = self;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (scratch.pages < pages) {
    if (scratch.memory != NULL) unmap(scratch.memory, (size_t)scratch.pages * kPageBytes);
    scratch.memory = map_pages(made->memory_bytes);
    scratch.pages = scratch.memory != NULL ? (uint32_t)pages : 0;
  }
  if (scratch.memory == NULL) scratch.used_by = 0;
  return scratch.memory;
}

void shim_environment_thread_ends(void) {
  if (scratch.memory != NULL) unmap(scratch.memory, (size_t)scratch.pages * kPageBytes);
  scratch = (struct scratch){0};
}

void shim_environment_remember(const char* segment_path, const char* library_path) {
  const size_t segment_bytes = strlen(segment_path) + 1U;
  const size_t path_bytes = strlen(library_path);
  if (segment_bytes > PATH_MAX || path_bytes == 0 || path_bytes >= sizeof library) return;
  memcpy(segment_variable, kSegment, kSegmentBytes);
  memcpy(segment_variable + kSegmentBytes, segment_path, segment_bytes);
  memcpy(library, library_path, path_bytes + 1U);
  library_bytes = path_bytes;
}

/* The entry of `list` (separated by spaces and colons) that is this library; NULL if there is none. */
static const char* find_library(const char* list) {
  for (const char* at = list; *at != '\0';) {
    const size_t bytes = strcspn(at, " :");
    if (bytes == library_bytes && memcmp(at, library, bytes) == 0) return at;
    at += bytes;
    if (*at != '\0') ++at;
  }
  return NULL;
}

struct findings {
  size_t count;
  size_t preload_index; /* of the last LD_PRELOAD, which is the one that the loader obeys; count: none */
  const char* preload;  /* its value, or NULL */
  const char* listed;   /* this library in it, or NULL */
  const char* segment;  /* value, or NULL */
};

static struct findings look_at(char* const* given) {
  struct findings found = {0, SIZE_MAX, NULL, NULL, NULL};
  for (; given != NULL && given[found.count] != NULL; ++found.count) {
    const char* entry = given[found.count];
    if (strncmp(entry, kPreload, kPreloadBytes) == 0) {
      found.preload = entry + kPreloadBytes;
      found.preload_index = found.count;
    } else if (strncmp(entry, kSegment, kSegmentBytes) == 0) {
      found.segment = entry + kSegmentBytes;
    }
  }
  if (found.preload != NULL) found.listed = find_library(found.preload);
  return found;
}

static bool names_other_session(const struct findings* found) {
  return found->segment != NULL && strcmp(found->segment, segment_variable + kSegmentBytes) != 0;
}

static bool library_is_readable(void) {
  return shim_syscall(SYS_faccessat, AT_FDCWD, (long)(uintptr_t)library, R_OK, 0, 0, 0) == 0;
}

/* LD_PRELOAD with this library in front of what is there, at `text`. */
static void write_with_library(char* text, const char* others) {
  memcpy(text, kPreload, kPreloadBytes);
  text += kPreloadBytes;
  memcpy(text, library, library_bytes);
  text += library_bytes;
  if (others != NULL && *others != '\0') {
    *text++ = ':';
    memcpy(text, others, strlen(others) + 1U);
  } else {
    *text = '\0';
  }
}

/* LD_PRELOAD without this library, which is at `listed`. */
static void write_without_library(char* text, const char* value, const char* listed) {
  const size_t before = (size_t)(listed - value);
  const char* after = listed + library_bytes;
  if (*after != '\0') ++after;
  memcpy(text, kPreload, kPreloadBytes);
  memcpy(text + kPreloadBytes, value, before);
  memcpy(text + kPreloadBytes + before, after, strlen(after) + 1U);
}

void shim_environment_complete(struct shim_environment* made, char* const* given) {
  *made = (struct shim_environment){.given = given, .variables = given};
  const struct findings found = look_at(given);
  const bool readable = library_bytes != 0 && library_is_readable();
  if (!readable) made->flags |= MT_NOTICE_UNREACHABLE;
  if (names_other_session(&found)) {
    made->flags |= MT_NOTICE_OTHER_SESSION;
    return;
  }
  const bool right = readable ? found.listed != NULL && found.segment != NULL : found.listed == NULL;
  if (right) return;
  const size_t old_bytes = found.preload != NULL ? strlen(found.preload) : 0;
  const size_t text_bytes = kPreloadBytes + library_bytes + 1U + old_bytes + 1U;
  const size_t bytes = (found.count + 3U) * sizeof(char*) + text_bytes;
  char** list = bytes <= sizeof made->small ? made->small : take_memory(made, bytes);
  if (list == NULL) {
    made->flags |= MT_NOTICE_UNCHANGED;
    return;
  }
  char* text = (char*)(list + found.count + 3U);
  if (found.count != 0) memcpy(list, given, found.count * sizeof(char*));
  size_t count = found.count;
  if (!readable) {
    write_without_library(text, found.preload, found.listed);
    list[found.preload_index] = text;
  } else {
    if (found.listed == NULL) {
      write_with_library(text, found.preload);
      list[found.preload != NULL ? found.preload_index : count++] = text;
    }
    if (found.segment == NULL) list[count++] = segment_variable;
  }
  list[count] = NULL;
  made->variables = list;
}

void shim_environment_release(struct shim_environment* made) {
  if (made->memory != NULL) {
    unmap(made->memory, made->memory_bytes);
    made->memory = NULL;
  } else if (made->memory_bytes != 0 && scratch.memory != NULL) {
    scratch.used_by = 0;
  }
}

/* Appends `text` in single quotes, as a shell reads them; returns the end. */
static char* quote(char* to, const char* text) {
  *to++ = '\'';
  for (; *text != '\0'; ++text) {
    if (*text == '\'') {
      memcpy(to, "'\\'", 3);
      to += 3;
    }
    *to++ = *text;
  }
  *to++ = '\'';
  return to;
}

static char* put(char* to, const char* text) {
  const size_t bytes = strlen(text);
  memcpy(to, text, bytes);
  return to + bytes;
}

char* shim_shell_command(char* const* environment, const char* command, size_t* bytes, uint32_t* flags) {
  const struct findings found = look_at(environment);
  const bool other = names_other_session(&found);
  *flags = other ? MT_NOTICE_OTHER_SESSION : 0U;
  if (library_bytes == 0 || !library_is_readable()) *flags |= MT_NOTICE_UNREACHABLE;
  if (*flags != 0 || (found.segment != NULL && found.listed != NULL)) return NULL;
  const char* others = found.preload != NULL && found.listed == NULL ? found.preload : "";
  *bytes = 4U * (strlen(command) + strlen(others) + library_bytes + strlen(segment_variable)) + 256U;
  *flags = MT_NOTICE_UNCHANGED;
  char* text = map_pages(*bytes);
  if (text == NULL) return NULL;
  char* to = put(text, "export LD_PRELOAD=");
  to = quote(to, found.listed != NULL ? found.preload : library);
  if (*others != '\0') to = quote(put(to, ":"), others);
  to = quote(put(to, " " MT_SEGMENT_ENV "="), segment_variable + kSegmentBytes);
  to = quote(put(to, "; exec /bin/sh -c "), command); /* in a shell that loads the library */
  to = put(to, " sh");                                /* its $0, as the C library names it */
  if (to - text < kLongestArgument) {
    *flags = 0;
    return text;
  }
  unmap(text, *bytes);
  return NULL;
}

void shim_shell_release(char* command, size_t bytes) {
  if (command != NULL) unmap(command, bytes);
}
