sluice_library(sluice_slow_path
  SOURCES slow_path.cc slow_path_local.cc slow_path_output.cc slow_path_route.cc
  DEPS sluice_cells sluice_local sluice_neighbor sluice_packet sluice_snapshot absl::status absl::synchronization)
sluice_test(slow_path_test SOURCES slow_path_test.cc DEPS sluice_slow_path LABELS tsan)
sluice_test(slow_path_route_test SOURCES slow_path_route_test.cc DEPS sluice_slow_path)
sluice_test(slow_path_thread_test SOURCES slow_path_thread_test.cc DEPS sluice_slow_path LABELS tsan)
