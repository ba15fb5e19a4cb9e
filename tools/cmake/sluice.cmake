# How every folder of Sluice is built: warnings, sanitizers, dependencies, and three verbs
# (sluice_library, sluice_test, sluice_benchmark).

option(SLUICE_WITH_SERVER "Build proto/, server/ and client/ (needs gRPC)" ON)
set(SLUICE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them (address,undefined or thread)")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${SLUICE_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${SLUICE_CCACHE}")
endif()

# x86-64-v2 is the floor: every binary runs on any such CPU; what runs faster on a better one is chosen at start.
add_compile_options(-march=x86-64-v2 -fno-omit-frame-pointer)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra> $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
# Designated initializers leave out what has a default; that is their point.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>)
include_directories("${CMAKE_SOURCE_DIR}")

if(SLUICE_SANITIZE)
  add_compile_options(-fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SLUICE_SANITIZE})
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
enable_testing()

# DPDK: headers as SYSTEM, and without the -march that its pkg-config file adds (ours is set above, and per
# instruction set where the pipeline is compiled).
pkg_check_modules(DPDK REQUIRED libdpdk)
add_library(sluice_dpdk INTERFACE)
target_include_directories(sluice_dpdk SYSTEM INTERFACE ${DPDK_INCLUDE_DIRS})
target_compile_options(sluice_dpdk INTERFACE -include rte_config.h)
target_link_libraries(sluice_dpdk INTERFACE ${DPDK_LINK_LIBRARIES})

# sluice_library(NAME SOURCES ... DEPS ...): a static library from the current folder.
function(sluice_library name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  if(A_SOURCES)
    add_library(${name} STATIC ${A_SOURCES})
    target_link_libraries(${name} PUBLIC ${A_DEPS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${A_DEPS})
  endif()
endfunction()

# sluice_test(NAME SOURCES ... DEPS ... [LABELS ...] [TIMEOUT s]): one GoogleTest binary, one ctest entry.
function(sluice_test name)
  cmake_parse_arguments(A "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE ${A_DEPS} GTest::gmock GTest::gtest_main Threads::Threads)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name})
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${A_TIMEOUT} LABELS "${A_LABELS}")
endfunction()

# sluice_benchmark(SOURCES ... DEPS ...): adds benchmarks to build/bin/sluice-bench.
set_property(GLOBAL PROPERTY SLUICE_BENCH_SOURCES "")
set_property(GLOBAL PROPERTY SLUICE_BENCH_DEPS "")
function(sluice_benchmark)
  cmake_parse_arguments(A "" "" "SOURCES;DEPS" ${ARGN})
  foreach(source ${A_SOURCES})
    set_property(GLOBAL APPEND PROPERTY SLUICE_BENCH_SOURCES "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
  endforeach()
  set_property(GLOBAL APPEND PROPERTY SLUICE_BENCH_DEPS ${A_DEPS})
endfunction()
