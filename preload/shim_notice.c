#include "preload/shim_notice.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/shim_session.h"
#include "preload/shim_stamp.h"

extern char** environ;

/* A path that is put together in the notice itself: no buffer on a small stack. */
struct text {
  char* at;
  size_t bytes; /* of the whole; what does not fit is only counted */
};

static void append(struct text* text, const char* more, size_t bytes) {
  if (text->bytes < MT_NOTICE_PATH_BYTES) {
    const size_t room = MT_NOTICE_PATH_BYTES - text->bytes;
    memcpy(text->at + text->bytes, more, bytes < room ? bytes : room);
  }
  text->bytes += bytes;
}

/* The directory that `fd` stands for, with a slash behind it. Nothing where it can't be found out or is too long. */
static void append_directory(struct text* text, int fd) {
  long bytes;
  if (fd == AT_FDCWD) {
    bytes = shim_syscall(SYS_getcwd, (long)(uintptr_t)text->at, MT_NOTICE_PATH_BYTES, 0, 0, 0, 0) - 1;
    if (bytes <= 0 || text->at[0] != '/') return; /* "(unreachable)..." */
  } else {
    char link[] = "/proc/self/fd/\0.........."; /* the number comes behind the slash */
    char digits[12];
    size_t count = 0;
    size_t end = 14;
    for (unsigned rest = (unsigned)fd; count == 0 || rest != 0; rest /= 10U) digits[count++] = (char)('0' + rest % 10U);
    while (count > 0) link[end++] = digits[--count];
    link[end] = '\0';
    bytes = shim_syscall(SYS_readlinkat, AT_FDCWD, (long)(uintptr_t)link, (long)(uintptr_t)text->at,
                         MT_NOTICE_PATH_BYTES, 0, 0);
    if (bytes <= 0 || bytes == MT_NOTICE_PATH_BYTES) return;
  }
  text->bytes = (size_t)bytes;
}

static bool runs(const char* path) {
  return shim_syscall(SYS_faccessat, AT_FDCWD, (long)(uintptr_t)path, X_OK, 0, 0, 0) == 0;
}

/* As execvp searches; the first hit counts. False where there is none, or its path is too long to be tried. */
static bool append_found(struct text* text, const char* name) {
  const char* path = "/bin:/usr/bin";
  for (char** entry = environ; entry != NULL && *entry != NULL; ++entry) {
    if (strncmp(*entry, "PATH=", 5) == 0) path = *entry + 5;
  }
  for (;;) {
    const char* end = path;
    while (*end != '\0' && *end != ':') ++end;
    text->bytes = 0;
    if (*path != '/') append_directory(text, AT_FDCWD);
    if (text->bytes > 0) append(text, "/", 1);
    append(text, path, (size_t)(end - path));
    if (end > path) append(text, "/", 1);
    append(text, name, strlen(name) + 1U);
    if (text->bytes <= MT_NOTICE_PATH_BYTES && runs(text->at)) {
      --text->bytes; /* the '\0' */
      return true;
    }
    if (*end == '\0') return false;
    path = end + 1;
  }
}

static size_t write_path(char* at, const struct shim_program* program) {
  struct text text = {at, 0};
  const char* path = program->path;
  if (program->search && strchr(path, '/') == NULL) {
    if (append_found(&text, path)) return text.bytes;
    text.bytes = 0;
  } else if (path[0] != '/') {
    append_directory(&text, program->directory_fd);
    if (text.bytes > 0 && path[0] != '\0') append(&text, "/", 1);
  }
  append(&text, path, strlen(path));
  return text.bytes;
}

static struct mt_notice* claim(void) {
  struct mt_segment* segment = shim_session.segment;
  const uint32_t first = __atomic_fetch_add(&segment->notice_hint, 1U, __ATOMIC_RELAXED);
  if (first % (MT_NOTICE_COUNT / 4U) == 0) shim_session_wake_tracker();
  for (uint32_t i = 0; i < MT_NOTICE_COUNT; ++i) {
    struct mt_notice* notice = &segment->notices[(first + i) % MT_NOTICE_COUNT];
    uint32_t expected = MT_STATE_FREE;
    if (__atomic_load_n(&notice->state, __ATOMIC_RELAXED) != MT_STATE_FREE) continue;
    if (__atomic_compare_exchange_n(&notice->state, &expected, (uint32_t)MT_STATE_CLAIMED, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
      return notice;
    }
  }
  __atomic_fetch_add(&segment->notices_lost, 1U, __ATOMIC_RELAXED);
  shim_session_wake_tracker();
  return NULL;
}

static uint32_t live_state(uint64_t ticks) {
  return MT_STATE_LIVE | (uint32_t)ticks << 8;
}

struct mt_notice* shim_notice_publish(enum mt_notice_kind kind, int32_t pid, uint64_t ticks, uint32_t flags,
                                      const struct shim_program* program) {
  struct mt_notice* notice = claim();
  if (notice == NULL) return NULL;
  __atomic_store_n(&notice->writer, (int32_t)shim_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0), __ATOMIC_RELAXED);
  notice->kind = kind;
  notice->pid = pid;
  notice->ticks = ticks;
  notice->uid = (uint32_t)shim_syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0);
  notice->flags = flags;
  notice->path_bytes = program != NULL ? (uint32_t)write_path(notice->path, program) : 0;
  __atomic_store_n(&notice->state, live_state(ticks), __ATOMIC_RELEASE);
  return notice;
}

void shim_notice_withdraw(struct mt_notice* notice, uint64_t ticks) {
  if (notice == NULL) return;
  uint32_t expected = live_state(ticks);
  if (__atomic_compare_exchange_n(&notice->state, &expected, (uint32_t)MT_STATE_FREE, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_RELAXED)) {
    return;
  }
  shim_notice_publish(MT_NOTICE_EXEC_FAILED, (int32_t)shim_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0), ticks, 0, NULL);
}
