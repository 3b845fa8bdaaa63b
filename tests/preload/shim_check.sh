#!/bin/sh
# Checks what a built shim is made of.
#
# usage: shim_check.sh LIBRARY
#
# It runs inside every call of malloc of every target, so: no lazily allocated TLS and little of it, no library but the C
# library, no import that could allocate or lock, no export but the hooks. Prints one line a violation; exits 1 if any.
set -eu
export LC_ALL=C
library=$1
violations=0

violation() {
  echo "violation: $1"
  violations=1
}

# Imports that neither allocate nor call a hook. dlsym, dlerror, dl_iterate_phdr: only while the shim starts.
allowed_imports=" __errno_location clock_gettime dl_iterate_phdr dlerror dlsym environ __environ memchr memcmp memcpy memmove \
memset pthread_key_create pthread_key_delete pthread_setspecific strchr strcmp strcspn strlen strncmp __cxa_finalize \
__gmon_start__ _ITM_deregisterTMCloneTable _ITM_registerTMCloneTable "
allowed_exports=" malloc calloc realloc reallocarray free cfree aligned_alloc posix_memalign memalign valloc pvalloc \
free_sized free_aligned_sized mmap mmap64 munmap mremap brk sbrk fork execve execv execvp execvpe execl execle execlp \
fexecve execveat posix_spawn posix_spawnp system popen longjmp \
_longjmp siglongjmp __longjmp_chk __asan_default_options "
max_tls_bytes=256

for type in $(readelf --relocs --wide "$library" | awk '$3 ~ /TLSDESC|DTPMOD|DTPOFF|TLS_DTP/ { print $3 }' | sort -u); do
  violation "lazy TLS relocation $type"
done

tls_bytes=$(readelf --program-headers --wide "$library" | awk '$1 == "TLS" { print $6 }')
if [ -n "$tls_bytes" ] && [ $((tls_bytes)) -gt $max_tls_bytes ]; then
  violation "TLS of $((tls_bytes)) bytes, $max_tls_bytes are allowed"
fi

for needed in $(readelf --dynamic --wide "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
  case $needed in
    libc.so.*|ld-linux*|libc.musl-*|libdl.so.*|libpthread.so.*) ;;
    *) violation "needs $needed" ;;
  esac
done

for symbol in $(nm --dynamic --undefined-only "$library" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u); do
  case $allowed_imports in
    *" $symbol "*) ;;
    *) violation "imports $symbol" ;;
  esac
done

for symbol in $(nm --dynamic --defined-only "$library" | awk '{ print $NF }' | sort -u); do
  case $allowed_exports in
    *" $symbol "*) ;;
    *) violation "exports $symbol" ;;
  esac
done

[ $violations -eq 0 ] && echo "ok: $library"
exit $violations
