/* Shared objects that tests/preload/shim_check.sh must refuse; one violation each. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define HOOK __attribute__((visibility("default")))

#if defined(PLANT_LAZY_TLS)
__thread int planted_variable __attribute__((tls_model("global-dynamic"))) = 1;
HOOK int* free_sized(void) {
  return &planted_variable;
}
#elif defined(PLANT_BIG_TLS)
static __thread char planted_bytes[4096] __attribute__((tls_model("initial-exec")));
HOOK char* free_sized(void) {
  return planted_bytes;
}
#elif defined(PLANT_ALLOCATION)
HOOK void* free_sized(void) {
  return malloc(1);
}
#elif defined(PLANT_STDIO)
HOOK void* free_sized(void) {
  return fopen("/dev/null", "r");
}
#elif defined(PLANT_EXPORT)
HOOK int planted_helper(void) {
  return 0;
}
#elif defined(PLANT_LIBRARY)
HOOK double free_sized(double value) {
  return cos(value);
}
#endif
