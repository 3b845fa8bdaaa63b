/* The hooks of longjmp: a signal handler may leave a hook that it interrupted by a jump. What that hook was doing is
 * ended here, or the tracker would wait for it for ever. Frames that are left in another way (an exception thrown by a
 * handler, setcontext) are not noticed. */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/shim_process.h"
#include "preload/shim_ring.h"
#include "preload/shim_thread.h"

typedef struct __jmp_buf_tag jump_target;

/* The stack pointer that the jump restores; 0 where that can't be told. */
static uintptr_t stack_of(const jump_target* target) {
#if defined(__x86_64__) && defined(__GLIBC__)
  enum { kStackIndex = 6 };
  uintptr_t position = (uintptr_t)target->__jmpbuf[kStackIndex];
  __asm__("ror $17, %0\n\txor %%fs:0x30, %0" : "+r"(position)); /* as the C library mangles it */
  return position;
#else
  (void)target;
  return 0;
#endif
}

/* True if the frame of the last section of `thread` is not there any more at `position`. */
static bool is_left(const struct shim_thread* thread, uintptr_t position) {
  if (thread->ring == NULL || thread->ready) return false;
  if (position == 0) return true;
  stack_t alternative = {0};
  shim_syscall(SYS_sigaltstack, 0, (long)(uintptr_t)&alternative, 0, 0, 0, 0);
  const uintptr_t begin = (uintptr_t)alternative.ss_sp;
  const bool target_on_it = (alternative.ss_flags & SS_ONSTACK) != 0 && position - begin < alternative.ss_size;
  const bool section_on_it = thread->stack - (uint32_t)begin < alternative.ss_size;
  if (target_on_it && !section_on_it) return false; /* a jump within the handler */
  return (int32_t)((uint32_t)position - thread->stack) > 0;
}

static inline void before_jump(const jump_target* target) {
  if (shim_likely(shim_thread.ready) || shim_thread.ring == NULL) return;
  const uintptr_t position = stack_of(target);
  if (is_left(&shim_nested, position)) shim_record_abandon(&shim_nested);
  if (is_left(&shim_thread, position)) shim_record_abandon(&shim_thread);
}

typedef void (*jump_function)(jump_target*, int);

static _Noreturn void jump(const jump_function* function, jump_target* target, int value) {
  before_jump(target);
  if (*function == NULL) shim_tracks(SHIM_CALLER); /* before the first hook: looks the functions up */
  if (*function != NULL) (*function)(target, value);
  __builtin_trap();
}

SHIM_HOOK void longjmp(jump_target target[1], int value) {
  jump(&shim_real.longjmp, target, value);
}

SHIM_HOOK void _longjmp(jump_target target[1], int value) {
  jump(&shim_real.longjmp, target, value);
}

SHIM_HOOK void siglongjmp(jump_target target[1], int value) {
  jump(&shim_real.longjmp, target, value);
}

/* What a fortified program calls; it refuses to jump down the stack. */
extern _Noreturn void __longjmp_chk(jump_target target[1], int value);
SHIM_HOOK void __longjmp_chk(jump_target target[1], int value) {
  jump(&shim_real.longjmp_chk, target, value);
}
