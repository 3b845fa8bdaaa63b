# Helpers that every folder uses, so that a CMakeLists.txt lists its sources and little else.

add_library(memtrack_options INTERFACE)
target_compile_options(memtrack_options INTERFACE
  -Wall -Wextra -Wshadow
  $<$<COMPILE_LANGUAGE:CXX>:-Wconversion -Wnon-virtual-dtor -Woverloaded-virtual>
  # g++ 12 sees uninitialised members behind the flag of std::optional and std::expected where there are none.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  # libstdc++ 12's own stable_sort uses a function that it calls deprecated, and clang tells it from our files.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>
  $<$<BOOL:${MEMTRACK_WERROR}>:-Werror>)
target_include_directories(memtrack_options INTERFACE "${PROJECT_SOURCE_DIR}")

add_library(memtrack_sanitize INTERFACE)
if(MEMTRACK_SANITIZE)
  target_compile_options(memtrack_sanitize INTERFACE
    "-fsanitize=${MEMTRACK_SANITIZE}" -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(memtrack_sanitize INTERFACE "-fsanitize=${MEMTRACK_SANITIZE}")
endif()
if(MEMTRACK_FUZZERS)
  target_compile_options(memtrack_sanitize INTERFACE -fsanitize=fuzzer-no-link)
endif()

# mt_library(<folder> SOURCES ... [PUBLIC libs...] [PRIVATE libs...])
# makes the static library memtrack_<folder> with the alias memtrack::<folder>.
function(mt_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(memtrack_${name} STATIC ${ARG_SOURCES})
  add_library(memtrack::${name} ALIAS memtrack_${name})
  target_link_libraries(memtrack_${name}
    PUBLIC ${ARG_PUBLIC}
    PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:memtrack_options>)
  target_link_libraries(memtrack_${name} PUBLIC $<BUILD_INTERFACE:memtrack_sanitize>)
  target_include_directories(memtrack_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  set_target_properties(memtrack_${name} PROPERTIES EXPORT_NAME ${name})
endfunction()

# Suppressions name functions, and the symbolizer has to be found under its versioned name.
if(MEMTRACK_SANITIZE MATCHES "thread")
  find_program(MEMTRACK_SYMBOLIZER NAMES llvm-symbolizer-19 llvm-symbolizer REQUIRED)
  mark_as_advanced(MEMTRACK_SYMBOLIZER)
  set(MEMTRACK_TSAN_OPTIONS
    "suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp:external_symbolizer_path=${MEMTRACK_SYMBOLIZER}")
endif()

# mt_test(<name> LABEL <unit|system> SOURCES ... LIBS ...)
# makes one doctest binary and one ctest entry for it, with its label.
function(mt_test name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} memtrack_test_main memtrack_options memtrack_sanitize)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT})
  if(MEMTRACK_TSAN_OPTIONS)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "TSAN_OPTIONS=${MEMTRACK_TSAN_OPTIONS}")
  endif()
endfunction()

# mt_bench(<name> SOURCES ... [LIBS ...])
# makes one benchmark binary; its sources define memtrack::perf::register_benchmarks() (perf/bench_main.h).
function(mt_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE memtrack_bench_support ${ARG_LIBS} memtrack_options memtrack_sanitize)
endfunction()
