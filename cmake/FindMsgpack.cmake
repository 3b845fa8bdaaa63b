# The C++ msgpack library, header-only; its package file has had three names over the years, so look for the header.
find_path(Msgpack_INCLUDE_DIR msgpack.hpp)
include(FindPackageHandleStandardArgs)
set(Msgpack_FIND_QUIETLY ON)
find_package_handle_standard_args(Msgpack REQUIRED_VARS Msgpack_INCLUDE_DIR)
if(Msgpack_FOUND AND NOT TARGET Msgpack::msgpack)
  add_library(Msgpack::msgpack INTERFACE IMPORTED)
  set_target_properties(Msgpack::msgpack PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Msgpack_INCLUDE_DIR}"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${Msgpack_INCLUDE_DIR}")
endif()
mark_as_advanced(Msgpack_INCLUDE_DIR)
