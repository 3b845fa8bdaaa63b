/* The environment of a program that is about to run, with the session put back into it where the caller cleaned or
 * replaced it.
 *
 * Safe in a vfork child and in a signal handler: no heap, no lock, little stack. What does not fit into the caller's
 * struct goes to a mapping that the thread keeps and uses again, since a vfork child that succeeds leaves it behind in
 * its parent. */
#ifndef MEMTRACK_PRELOAD_SHIM_ENVIRONMENT_H
#define MEMTRACK_PRELOAD_SHIM_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(hidden)

enum { kShimSmallWords = 256 };

struct shim_environment {
  char* const* given;     /* by the caller; NULL: empty */
  char* const* variables; /* for the program; == given where nothing had to be done */
  uint32_t flags;         /* of enum mt_notice_flags: why the program will not find the session */
  void* memory;           /* a mapping of `memory_bytes`, or NULL */
  size_t memory_bytes;
  char* small[kShimSmallWords];
};

/* Once, while attaching: the segment's path and the path of this library. Both are copied; one that is too long leaves
 * environments as they are. */
void shim_environment_remember(const char* segment_path, const char* library_path);

/* Makes `made` from `given`: this library first in LD_PRELOAD unless it is listed, MEMTRACK_SEGMENT unless it is set.
 * Where the library can't be read any more it is taken out instead, so that the loader does not complain. */
void shim_environment_complete(struct shim_environment* made, char* const* given);
void shim_environment_release(struct shim_environment* made);

/* A command for `sh -c` that puts the session back and then runs `command` in a shell of its own: for system and popen,
 * which use the environment of the process. NULL where `environment` has the session, or where that can't be done;
 * then `flags` (of enum mt_notice_flags) says why. To be given back with its `bytes`. */
char* shim_shell_command(char* const* environment, const char* command, size_t* bytes, uint32_t* flags);
void shim_shell_release(char* command, size_t bytes);

/* The thread's mapping, if it has one, is given back. */
void shim_environment_thread_ends(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
