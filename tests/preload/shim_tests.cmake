# Tests of the shim without the tracker.
add_library(memtrack_segment_harness STATIC segment_harness.cpp)
target_link_libraries(memtrack_segment_harness PUBLIC memtrack_options memtrack_sanitize)

mt_test(preload_shim_test LABEL unit
  SOURCES shim_environment_test.cpp shim_nesting_test.cpp shim_notice_test.cpp shim_proc_test.cpp shim_test.cpp
  LIBS memtrack_shim_core_checked memtrack_segment_harness Threads::Threads)

if(MEMTRACK_SANITIZE MATCHES undefined)
  # g++ 12 tests the address of a thread-local variable by the flags of an addition that the linker turns into a lea.
  set_source_files_properties(shim_test.cpp shim_nesting_test.cpp PROPERTIES COMPILE_OPTIONS -fno-sanitize=null)
endif()

mt_test(preload_shim_run_test LABEL unit
  SOURCES run_checks.cpp shim_allocator_test.cpp shim_exec_test.cpp shim_isolation_test.cpp shim_run_test.cpp shim_signal_test.cpp
  LIBS memtrack_segment_harness)
add_dependencies(preload_shim_run_test memtrack_shim
  fixture_dlopen_library fixture_eager_library fixture_early_heap fixture_exec_ways fixture_exits fixture_foreign_allocator fixture_fork_storm fixture_fork_tree
  fixture_isolates fixture_known_calls fixture_many_threads fixture_new_forms fixture_own_malloc
  fixture_plain_heap fixture_raw_exits fixture_sanitized fixture_signal_storm fixture_spawn_children fixture_thread_churn fixture_threads_race)
target_compile_definitions(preload_shim_run_test PRIVATE
  MEMTRACK_SHIM_PATH="$<TARGET_FILE:memtrack_shim>"
  MEMTRACK_FIXTURE_DIR="$<TARGET_FILE_DIR:fixture_known_calls>")

# What the built shim may contain, and that the check of it finds each kind of violation.
add_test(NAME preload_shim_check
  COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/shim_check.sh" "$<TARGET_FILE:memtrack_shim>")
set_tests_properties(preload_shim_check PROPERTIES LABELS unit TIMEOUT 60)

function(mt_shim_violation name expected)
  add_library(${name} MODULE shim_check_violations.c)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE ${ARGN})
  target_compile_options(${name} PRIVATE -fno-builtin)
  add_test(NAME preload_shim_check_finds_${name}
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/shim_check.sh" "$<TARGET_FILE:${name}>")
  set_tests_properties(preload_shim_check_finds_${name} PROPERTIES
    LABELS unit TIMEOUT 60 PASS_REGULAR_EXPRESSION "violation: ${expected}")
endfunction()
mt_shim_violation(shim_with_lazy_tls "lazy TLS relocation" PLANT_LAZY_TLS)
mt_shim_violation(shim_with_big_tls "TLS of" PLANT_BIG_TLS)
mt_shim_violation(shim_with_allocation "imports malloc" PLANT_ALLOCATION)
mt_shim_violation(shim_with_stdio "imports fopen" PLANT_STDIO)
mt_shim_violation(shim_with_extra_export "exports planted_helper" PLANT_EXPORT)
mt_shim_violation(shim_with_library "needs libm" PLANT_LIBRARY)
target_link_libraries(shim_with_library PRIVATE m)
