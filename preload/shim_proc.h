/* What the shim reads from /proc: is a process alive, which files are mapped executable, the initial environment.
 * Raw system calls and fixed buffers only. */
#ifndef MEMTRACK_PRELOAD_SHIM_PROC_H
#define MEMTRACK_PRELOAD_SHIM_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(hidden)

/* False if `pid` is no process, a zombie, or a younger process than the one that started at `start_time` (field 22 of
 * /proc/PID/stat). True where that can't be told. */
bool shim_proc_alive(int32_t pid, uint64_t start_time);
/* The decision of shim_proc_alive on the text of a stat file. */
bool shim_proc_stat_is(const char* text, size_t bytes, uint64_t start_time);

struct shim_mapping {
  uint64_t start;
  uint64_t length;
  uint64_t file_offset;
  uint64_t dev; /* kernel coding: major << 20 | minor */
  uint64_t ino;
  const char* path; /* into the line; not terminated */
  uint32_t path_bytes;
};
/* Parses one line of /proc/PID/maps (without its newline). True if it is an executable mapping of a file. */
bool shim_proc_parse_mapping(const char* line, size_t bytes, struct shim_mapping* mapping);

/* Calls `each` for every executable file mapping of this process. One thread at a time: the line buffer is static. */
void shim_proc_each_mapping(void (*each)(const struct shim_mapping* mapping));

/* Copies the value of `name` from the initial environment of this process; for the time before libc has `environ`.
 * False if it is not there or longer than `capacity` - 1. One thread at a time. */
bool shim_proc_environment(const char* name, char* value, size_t capacity);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
