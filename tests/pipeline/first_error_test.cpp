#include "pipeline/first_error.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace memtrack::pipeline {

TEST_CASE("the first error is kept, later ones are dropped") {
  FirstError error;
  CHECK(error.get() == nullptr);
  CHECK(error.set(Error{.code = ErrorCode::kIo, .message = "first"}));
  CHECK_FALSE(error.set(Error{.code = ErrorCode::kStageFailed, .message = "second"}));
  REQUIRE(error.get() != nullptr);
  CHECK(error.get()->message == "first");
  CHECK(error.get()->code == ErrorCode::kIo);
}

TEST_CASE("one of many racing errors is kept, and whoever sees it sees all of its text") {
  const std::string text(100, 'x');
  for (int round = 0; round < 300; ++round) {
    FirstError error;
    std::atomic<int> kept{0};
    std::atomic<bool> whole{true};
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
          if (error.set(Error{.code = ErrorCode::kIo, .message = text})) ++kept;
          if (error.get()->message != text) whole = false;
        });
      }
      threads.emplace_back([&] {
        const Error* seen = error.get();
        if (seen != nullptr && seen->message != text) whole = false;
      });
    }
    CHECK(kept == 1);
    CHECK(whole);
  }
}

}  // namespace memtrack::pipeline
