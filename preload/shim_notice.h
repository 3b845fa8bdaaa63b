/* Notices of programs that are about to run (struct mt_notice). Never blocks, changes nothing in this process: safe in
 * a vfork child and in a signal handler. */
#ifndef MEMTRACK_PRELOAD_SHIM_NOTICE_H
#define MEMTRACK_PRELOAD_SHIM_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/shared_segment.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(hidden)

/* What is to run: a path, or a name to be searched for in PATH, relative to the directory `directory_fd` (AT_FDCWD: the
 * working directory). An empty path: the file `directory_fd` itself. */
struct shim_program {
  const char* path;
  int directory_fd;
  bool search;
};

/* NULL where the table is full; that is counted. */
struct mt_notice* shim_notice_publish(enum mt_notice_kind kind, int32_t pid, uint64_t ticks, uint32_t flags,
                                      const struct shim_program* program);
/* The program did not run after all. */
void shim_notice_withdraw(struct mt_notice* notice, uint64_t ticks);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
