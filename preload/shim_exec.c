/* The hooks of starting programs: the session is put back into the environment that the program gets, and the tracker
 * is told, so that it can name a program that never attaches. What the caller sees of its own environment stays.
 *
 * All but system and popen may run in a vfork child or a signal handler. system and popen use the environment of the
 * process and start the shell behind the hooks; where that was cleaned, the command puts the session back. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "preload/shim_environment.h"
#include "preload/shim_notice.h"
#include "preload/shim_process.h"
#include "preload/shim_real.h"
#include "preload/shim_stamp.h"

extern char** environ;

/* This process records, and its children are to. A fork child that has no image yet counts; it need not take one. */
static bool follows(void) {
  return __atomic_load_n(&shim_state, __ATOMIC_ACQUIRE) == kShimAttached &&
         __atomic_load_n(&shim_session.segment->closed, __ATOMIC_RELAXED) == 0;
}

static int32_t current_pid(void) {
  return (int32_t)shim_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* A call of the exec family. */
struct exec_call {
  enum { kExecve, kExecvpe, kFexecve, kExecveat } function;
  struct shim_program program;
  char* const* arguments;
  int flags;
};

static int perform(const struct exec_call* call, char* const* variables) {
  const struct shim_program* program = &call->program;
  switch (call->function) {
    case kExecve:
      if (shim_real.execve != NULL) return shim_real.execve(program->path, call->arguments, variables);
      break;
    case kExecvpe:
      if (shim_real.execvpe != NULL) return shim_real.execvpe(program->path, call->arguments, variables);
      break;
    case kFexecve:
      if (shim_real.fexecve != NULL) return shim_real.fexecve(program->directory_fd, call->arguments, variables);
      break;
    case kExecveat:
      if (shim_real.execveat != NULL) {
        return shim_real.execveat(program->directory_fd, program->path, call->arguments, variables, call->flags);
      }
      break;
  }
  errno = ENOSYS; /* before the first hook, or a C library that does not have it */
  return -1;
}

static int run(const struct exec_call* call, char* const* given) {
  if (!follows()) return perform(call, given);
  struct shim_environment environment;
  shim_environment_complete(&environment, given);
  const uint64_t ticks = shim_stamp(shim_session.clock, true);
  struct mt_notice* notice =
      shim_notice_publish(MT_NOTICE_EXEC, current_pid(), ticks, environment.flags, &call->program);
  int result = perform(call, environment.variables);
  if (errno == E2BIG && environment.variables != given) {
    shim_notice_withdraw(notice, ticks);
    notice = shim_notice_publish(MT_NOTICE_EXEC, current_pid(), ticks, environment.flags | MT_NOTICE_UNCHANGED,
                                 &call->program);
    result = perform(call, given);
  }
  shim_notice_withdraw(notice, ticks);
  shim_environment_release(&environment);
  return result;
}

static int run_path(const char* path, char* const* arguments, char* const* given) {
  const struct exec_call call = {
      .function = kExecve, .program = {.path = path, .directory_fd = AT_FDCWD}, .arguments = arguments};
  return run(&call, given);
}

static int run_name(const char* name, char* const* arguments, char* const* given) {
  const struct exec_call call = {.function = kExecvpe,
                                 .program = {.path = name, .directory_fd = AT_FDCWD, .search = true},
                                 .arguments = arguments};
  return run(&call, given);
}

SHIM_HOOK int execve(const char* path, char* const arguments[], char* const variables[]) {
  return run_path(path, arguments, variables);
}

SHIM_HOOK int execv(const char* path, char* const arguments[]) {
  return run_path(path, arguments, environ);
}

SHIM_HOOK int execvp(const char* name, char* const arguments[]) {
  return run_name(name, arguments, environ);
}

SHIM_HOOK int execvpe(const char* name, char* const arguments[], char* const variables[]) {
  return run_name(name, arguments, variables);
}

SHIM_HOOK int fexecve(int fd, char* const arguments[], char* const variables[]) {
  const struct exec_call call = {
      .function = kFexecve, .program = {.path = "", .directory_fd = fd}, .arguments = arguments};
  return run(&call, variables);
}

SHIM_HOOK int execveat(int fd, const char* path, char* const arguments[], char* const variables[], int flags) {
  const struct exec_call call = {
      .function = kExecveat, .program = {.path = path, .directory_fd = fd}, .arguments = arguments, .flags = flags};
  return run(&call, variables);
}

/* How many arguments there are from `first` on, without the NULL. */
static size_t count_arguments(const char* first, va_list more) {
  size_t count = 0;
  for (const char* argument = first; argument != NULL; argument = va_arg(more, const char*)) ++count;
  return count;
}

/* Fills `list` with `first` and the rest, NULL included. The caller had them all on this stack, too. */
static void collect_arguments(char** list, size_t count, const char* first, va_list* more) {
  list[0] = (char*)(uintptr_t)first;
  for (size_t i = 1; i <= count; ++i) list[i] = va_arg(*more, char*);
}

/* Declares `list`, filled from the variable arguments behind `first`, and leaves `more` behind their NULL. */
#define SHIM_ARGUMENTS(list, more, first)                   \
  va_list more;                                             \
  va_start(more, first);                                    \
  const size_t list##_count = count_arguments(first, more); \
  va_end(more);                                             \
  char* list[list##_count + 1U];                            \
  va_start(more, first);                                    \
  collect_arguments(list, list##_count, first, &more)

SHIM_HOOK int execl(const char* path, const char* first, ...) {
  SHIM_ARGUMENTS(list, more, first);
  va_end(more);
  return run_path(path, list, environ);
}

SHIM_HOOK int execlp(const char* name, const char* first, ...) {
  SHIM_ARGUMENTS(list, more, first);
  va_end(more);
  return run_name(name, list, environ);
}

SHIM_HOOK int execle(const char* path, const char* first, ...) {
  SHIM_ARGUMENTS(list, more, first);
  char* const* variables = va_arg(more, char* const*);
  va_end(more);
  return run_path(path, list, variables);
}

typedef int (*spawn_function)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                              char* const*, char* const*);

static int spawn(spawn_function function, pid_t* pid, const struct shim_program* program,
                 const posix_spawn_file_actions_t* actions, const posix_spawnattr_t* attributes, char* const* arguments,
                 char* const* given) {
  if (function == NULL) return ENOSYS;
  if (!follows()) return function(pid, program->path, actions, attributes, arguments, given);
  struct shim_environment environment;
  shim_environment_complete(&environment, given);
  const uint64_t ticks = shim_stamp(shim_session.clock, true);
  pid_t child = 0;
  int result = function(&child, program->path, actions, attributes, arguments, environment.variables);
  if (result == E2BIG && environment.variables != given) {
    environment.flags |= MT_NOTICE_UNCHANGED;
    result = function(&child, program->path, actions, attributes, arguments, given);
  }
  if (result == 0) {
    if (pid != NULL) *pid = child;
    shim_notice_publish(MT_NOTICE_SPAWN, child, ticks, environment.flags, program);
  }
  shim_environment_release(&environment);
  return result;
}

SHIM_HOOK int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                          const posix_spawnattr_t* attributes, char* const arguments[], char* const variables[]) {
  const struct shim_program program = {.path = path, .directory_fd = AT_FDCWD};
  return spawn(shim_real.posix_spawn, pid, &program, actions, attributes, arguments, variables);
}

SHIM_HOOK int posix_spawnp(pid_t* pid, const char* name, const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, char* const arguments[], char* const variables[]) {
  const struct shim_program program = {.path = name, .directory_fd = AT_FDCWD, .search = true};
  return spawn(shim_real.posix_spawnp, pid, &program, actions, attributes, arguments, variables);
}

/* Tells of the shell that system and popen start; what `command` becomes where the session has to be put back. */
static char* before_shell(const char* command, size_t* bytes) {
  static const struct shim_program kShell = {.path = "/bin/sh", .directory_fd = AT_FDCWD};
  if (!follows()) return NULL;
  uint32_t flags;
  char* completed = shim_shell_command(environ, command, bytes, &flags);
  shim_notice_publish(MT_NOTICE_SHELL, 0, shim_stamp(shim_session.clock, true), flags, &kShell);
  return completed;
}

SHIM_HOOK int system(const char* command) {
  if (shim_real.system == NULL) {
    errno = EAGAIN;
    return -1;
  }
  if (command == NULL) return shim_real.system(NULL);
  size_t bytes = 0;
  char* completed = before_shell(command, &bytes);
  const int result = shim_real.system(completed != NULL ? completed : command);
  shim_shell_release(completed, bytes);
  return result;
}

SHIM_HOOK FILE* popen(const char* command, const char* mode) {
  if (shim_real.popen == NULL) {
    errno = EAGAIN;
    return NULL;
  }
  size_t bytes = 0;
  char* completed = before_shell(command, &bytes);
  FILE* stream = shim_real.popen(completed != NULL ? completed : command, mode);
  shim_shell_release(completed, bytes);
  return stream;
}
