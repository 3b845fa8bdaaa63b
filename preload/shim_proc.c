#include "preload/shim_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "preload/shim_sys.h"

/* A line of /proc/PID/maps: some 80 bytes of numbers and a path. */
static char line_buffer[2 * PATH_MAX];

static long open_for_reading(const char* path) {
  return shim_syscall(SYS_openat, AT_FDCWD, (long)(uintptr_t)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
}

static long read_some(long fd, char* buffer, size_t bytes) {
  long result;
  do {
    result = shim_syscall(SYS_read, fd, (long)(uintptr_t)buffer, (long)bytes, 0, 0, 0);
  } while (result == -EINTR);
  return result;
}

static void close_fd(long fd) {
  shim_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* Reads digits of `base` at *at, stops before the first other character. False if there is no digit. */
static bool parse_number(const char* text, size_t bytes, size_t* at, unsigned base, uint64_t* number) {
  const size_t first = *at;
  uint64_t value = 0;
  for (; *at < bytes; ++*at) {
    const char c = text[*at];
    unsigned digit;
    if (c >= '0' && c <= '9') {
      digit = (unsigned)(c - '0');
    } else if (base == 16 && c >= 'a' && c <= 'f') {
      digit = (unsigned)(c - 'a') + 10U;
    } else {
      break;
    }
    value = value * base + digit;
  }
  *number = value;
  return *at != first;
}

static bool skip(const char* text, size_t bytes, size_t* at, char wanted) {
  if (*at >= bytes || text[*at] != wanted) return false;
  ++*at;
  return true;
}

bool shim_proc_stat_is(const char* text, size_t bytes, uint64_t start_time) {
  size_t at = bytes;
  while (at > 0 && text[at - 1] != ')') --at; /* the command name may hold anything, even ')' */
  if (at == 0 || at + 2 >= bytes) return true;
  const char state = text[at + 1];
  if (state == 'Z' || state == 'X') return false;
  for (int field = 2; field < 22; ++field) { /* the ')' ends field 2 */
    while (at < bytes && text[at] != ' ') ++at;
    if (at == bytes) return true;
    ++at;
  }
  uint64_t started = 0;
  if (!parse_number(text, bytes, &at, 10, &started)) return true;
  return started == start_time;
}

bool shim_proc_alive(int32_t pid, uint64_t start_time) {
  char path[32] = "/proc/";
  char digits[12];
  size_t count = 0;
  for (uint32_t rest = (uint32_t)pid; rest != 0; rest /= 10U) digits[count++] = (char)('0' + rest % 10U);
  size_t end = 6;
  while (count > 0) path[end++] = digits[--count];
  memcpy(path + end, "/stat", 6);

  const long fd = open_for_reading(path);
  if (shim_failed(fd)) {
    /* No such entry also where /proc hides other users' processes; the kernel knows better. */
    return fd != -ENOENT || shim_syscall(SYS_kill, pid, 0, 0, 0, 0, 0) != -ESRCH;
  }
  char text[1024];
  const long bytes = read_some(fd, text, sizeof text);
  close_fd(fd);
  if (bytes == -ESRCH) return false;
  return bytes <= 0 || shim_proc_stat_is(text, (size_t)bytes, start_time);
}

bool shim_proc_parse_mapping(const char* line, size_t bytes, struct shim_mapping* mapping) {
  size_t at = 0;
  uint64_t end = 0;
  uint64_t major = 0;
  uint64_t minor = 0;
  if (!parse_number(line, bytes, &at, 16, &mapping->start) || !skip(line, bytes, &at, '-')) return false;
  if (!parse_number(line, bytes, &at, 16, &end) || !skip(line, bytes, &at, ' ')) return false;
  if (bytes - at < 5 || line[at + 2] != 'x') return false; /* rwxp */
  at += 5;
  if (!parse_number(line, bytes, &at, 16, &mapping->file_offset) || !skip(line, bytes, &at, ' ')) return false;
  if (!parse_number(line, bytes, &at, 16, &major) || !skip(line, bytes, &at, ':')) return false;
  if (!parse_number(line, bytes, &at, 16, &minor) || !skip(line, bytes, &at, ' ')) return false;
  if (!parse_number(line, bytes, &at, 10, &mapping->ino)) return false;
  while (at < bytes && line[at] == ' ') ++at;
  if (at >= bytes || line[at] != '/') return false; /* anonymous, [stack], [vdso] */
  mapping->length = end - mapping->start;
  mapping->dev = major << 20 | minor;
  mapping->path = line + at;
  mapping->path_bytes = (uint32_t)(bytes - at);
  return true;
}

void shim_proc_each_mapping(void (*each)(const struct shim_mapping* mapping)) {
  const long fd = open_for_reading("/proc/self/maps");
  if (shim_failed(fd)) return;
  size_t filled = 0;
  bool skipping = false; /* within a line that is longer than the buffer: no path of a file is */
  for (;;) {
    const long got = read_some(fd, line_buffer + filled, sizeof line_buffer - filled);
    if (got <= 0) break;
    filled += (size_t)got;
    size_t begin = 0;
    const char* newline;
    while ((newline = memchr(line_buffer + begin, '\n', filled - begin)) != NULL) {
      const size_t bytes = (size_t)(newline - line_buffer) - begin;
      struct shim_mapping mapping;
      if (!skipping && shim_proc_parse_mapping(line_buffer + begin, bytes, &mapping)) each(&mapping);
      skipping = false;
      begin += bytes + 1;
    }
    filled -= begin;
    memmove(line_buffer, line_buffer + begin, filled);
    if (filled == sizeof line_buffer) {
      skipping = true;
      filled = 0;
    }
  }
  close_fd(fd);
}

bool shim_proc_environment(const char* name, char* value, size_t capacity) {
  const long fd = open_for_reading("/proc/self/environ");
  if (shim_failed(fd)) return false;
  const size_t name_bytes = strlen(name);
  size_t at = 0;     /* in the present variable */
  bool match = true; /* so far it is NAME=... */
  bool found = false;
  long got;
  while (!found && (got = read_some(fd, line_buffer, sizeof line_buffer)) > 0) {
    for (long i = 0; i < got && !found; ++i) {
      const char c = line_buffer[i];
      if (at < name_bytes) {
        match = match && c == name[at];
      } else if (at == name_bytes) {
        match = match && c == '=';
      } else if (match) {
        if (at - name_bytes > capacity) match = false;
        if (match) value[at - name_bytes - 1] = c;
        found = match && c == '\0';
      }
      ++at;
      if (c == '\0') {
        at = 0;
        match = true;
      }
    }
  }
  close_fd(fd);
  return found;
}
