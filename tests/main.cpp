// Entry point of the tests of one process.
#include "tests/one_source.hpp"

int main(int argc, char** argv) {
  return amrbench::tests::run_tests(argc, argv);
}
