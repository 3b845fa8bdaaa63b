/* A program built with AddressSanitizer by g++ ends at once where another library is loaded before the sanitizer's, as
 * a preloaded one is. The sanitizer asks for options by this name, unless the program answers itself. With the check
 * off it works behind the hooks like any other allocator; where it is linked in statically, it is in front of them. */
#include "preload/shim_process.h"

SHIM_HOOK const char* __asan_default_options(void);
SHIM_HOOK const char* __asan_default_options(void) {
  return "verify_asan_link_order=0";
}
