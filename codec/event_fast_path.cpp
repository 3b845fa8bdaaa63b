#include "codec/event_fast_path.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "codec/event_forms.h"
#include "codec/kind_forms.h"

namespace memtrack::fast {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kHeaderOfCommon = 0x85;  // pid, tid, timestamp, addr, type
constexpr std::uint8_t kStackHashTag = 0xaa;     // a string as long as "stack_hash"

/// The common form that the widths at `at` call for; any where they call for none.
std::size_t common_form_of(const std::uint8_t* at) {
  const std::size_t pid = 5;
  const auto pid_width = forms::width_of(at[pid]);
  const std::size_t tid = pid + forms::int_form(pid_width).bytes + 4;
  const auto tid_width = forms::width_of(at[tid]);
  const std::size_t timestamp = tid + forms::int_form(tid_width).bytes + 10;
  const std::size_t addr = timestamp + 9 + 5;
  const auto addr_width = forms::width_of(at[addr]);
  if (pid_width > forms::Width::k32 || tid_width > forms::Width::k32 || addr_width > forms::Width::k64) return 0;
  return (static_cast<std::size_t>(pid_width) * forms::kIdWidths + static_cast<std::size_t>(tid_width)) *
             forms::kAddrWidths +
         static_cast<std::size_t>(addr_width);
}

namespace portable {
#define MEMTRACK_TARGET
using Block [[gnu::vector_size(16)]] = std::uint64_t;
inline bool any_bit(Block block) {
  return (block[0] | block[1]) != 0;
}
#include "codec/event_fast_loop.h"
#undef MEMTRACK_TARGET
}  // namespace portable

#if defined(__x86_64__)
namespace avx2 {
#define MEMTRACK_TARGET [[gnu::target("avx2,bmi,bmi2,movbe")]]
using Block [[gnu::vector_size(32)]] = std::uint64_t;
MEMTRACK_TARGET inline bool any_bit(Block block) {
  const auto bits = reinterpret_cast<__m256i>(block);
  return _mm256_testz_si256(bits, bits) == 0;
}
#include "codec/event_fast_loop.h"
#undef MEMTRACK_TARGET
}  // namespace avx2
#endif

}  // namespace

const Path kPortable = {.keep = portable::take_any<true>, .skip = portable::take_any<false>};
#if defined(__x86_64__)
const Path kAvx2 = {.keep = avx2::take_any<true>, .skip = avx2::take_any<false>};
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("movbe");
}
#else
const Path kAvx2 = kPortable;
bool has_avx2() {
  return false;
}
#endif

}  // namespace memtrack::fast
