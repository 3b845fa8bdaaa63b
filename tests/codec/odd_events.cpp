#include "tests/codec/odd_events.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace memtrack::test {
namespace {

struct Field {
  std::string name;
  Bytes value;
};

Bytes big_endian(unsigned tag, std::uint64_t value, unsigned bytes) {
  Bytes made = {static_cast<std::byte>(tag)};
  for (unsigned i = bytes; i > 0; --i) made.push_back(static_cast<std::byte>(value >> (8 * (i - 1))));
  return made;
}

Bytes shortest(std::uint64_t value) {
  if (value < 0x80) return {static_cast<std::byte>(value)};
  return value <= 0xff         ? big_endian(0xcc, value, 1)
         : value <= 0xffff     ? big_endian(0xcd, value, 2)
         : value <= 0xffffffff ? big_endian(0xce, value, 4)
                               : big_endian(0xcf, value, 8);
}

/// Some form that holds the value, signed ones included.
Bytes any_width(std::uint64_t value, std::mt19937_64& random) {
  const unsigned log = static_cast<unsigned>(random() % 4);
  const unsigned bits = 8u << log;
  const bool fits = bits == 64 || (value >> bits) == 0;
  if (!fits) return shortest(value);
  const bool fits_signed = (value >> (bits - 1)) == 0;
  return big_endian((fits_signed && random() % 2 == 0 ? 0xd0 : 0xcc) + log, value, bits / 8);
}

Bytes text(std::string_view name) {
  Bytes made = {static_cast<std::byte>(0xa0 + name.size())};
  append(made, bytes_of(name));
  return made;
}

Bytes map_of(const std::vector<Field>& fields) {
  Bytes made = {static_cast<std::byte>(0x80 + fields.size())};
  for (const Field& field : fields) {
    append(made, text(field.name));
    append(made, field.value);
  }
  return made;
}

std::uint64_t id(std::mt19937_64& random) {
  constexpr std::uint64_t kIds[] = {1, 127, 128, 255, 256, 4242, 65'535, 65'536, 4'194'304, 0x7fffffff};
  return random() % 4 == 0 ? kIds[random() % std::size(kIds)] : 70'000 + random() % 3;
}

constexpr std::string_view kKinds[] = {"Malloc", "Free",   "Realloc", "Calloc", "AlignedAlloc",
                                       "Mmap",   "Munmap", "Brk",     "Malloc", "Free"};

/// An allocation kind in written order and form.
std::vector<Field> usual_fields(std::mt19937_64& random) {
  const std::string_view kind = kKinds[random() % std::size(kKinds)];
  const std::uint64_t addr = random() % 8 == 0 ? edge_uint(random) : 0x5555'0000'0000 + random() % 0xFFFF'FFFF;
  std::vector<Field> fields = {{"pid", shortest(id(random))},
                               {"tid", shortest(id(random))},
                               {"timestamp", shortest(0x1'0000'0000 + (random() >> 8))},
                               {"addr", shortest(addr)}};
  if (random() % 3 == 0) fields.push_back({"stack_hash", shortest(0x1'0000'0000 + (random() >> 1))});
  fields.push_back({"type", text(kind)});
  if (kind == "Realloc" && random() % 4 != 0) fields.push_back({"old_addr", shortest(0x1'0000'0000 + (addr >> 1))});
  if (kind != "Free") fields.push_back({"size", shortest(edge_uint(random))});
  return fields;
}

Bytes usual_event(std::mt19937_64& random) {
  return map_of(usual_fields(random));
}

/// Binary data or a string that looks like events inside.
Bytes blob_of_events(std::mt19937_64& random, bool binary) {
  Bytes inside = bytes_of(random() % 2 == 0 ? "\x85\xa3pid" : "");
  for (std::uint64_t i = random() % 4; i > 0; --i) append(inside, usual_event(random));
  const Bytes beginning = usual_event(random);
  if (random() % 2 == 0) append(inside, std::span(beginning).first(10));
  Bytes made = big_endian(binary ? 0xc5 : 0xda, inside.size(), 2);
  append(made, inside);
  return made;
}

Bytes stack_event(std::mt19937_64& random) {
  return map_of({{"pid", shortest(id(random))},
                 {"tid", shortest(id(random))},
                 {"timestamp", shortest(random())},
                 {"addr", shortest(0)},
                 {"type", text("Stack")},
                 {"hash", shortest(edge_uint(random))},
                 {"sp", shortest(edge_uint(random))},
                 {"regs", from_hex("92 01 cd 0100")},
                 {"bytes", blob_of_events(random, true)},
                 {"fp_chain", from_hex("90")},
                 {"truncated", from_hex("c2")}});
}

Bytes mapping_event(std::mt19937_64& random) {
  return map_of({{"pid", shortest(id(random))},
                 {"tid", shortest(id(random))},
                 {"timestamp", shortest(random())},
                 {"addr", shortest(random())},
                 {"type", text("Mapping")},
                 {"path", blob_of_events(random, false)},
                 {"dev", shortest(edge_uint(random))},
                 {"ino", shortest(edge_uint(random))},
                 {"file_offset", shortest(edge_uint(random))},
                 {"len", shortest(edge_uint(random))}});
}

Bytes any_kind(std::mt19937_64& random) {
  EventBatch one(1);
  append_random(one, static_cast<EventKind>(random() % kEventKindCount), random);
  return encode(one);
}

Field& any_of(std::vector<Field>& fields, std::mt19937_64& random) {
  return fields[random() % fields.size()];
}

Bytes legal_event(std::mt19937_64& random) {
  std::vector<Field> fields = usual_fields(random);
  switch (random() % 8) {
    case 0:
      std::ranges::shuffle(fields, random);
      break;
    case 1:
      for (Field& field : fields) {
        if (field.name != "type") field.value = any_width(random() % 70'000, random);
      }
      break;
    case 2:
      fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(random() % (fields.size() + 1)),
                    Field{"extra", blob_of_events(random, random() % 2 == 0)});
      break;
    case 3:
      for (Field& field : fields) {
        if (field.name == "type") field.value = text(random() % 2 == 0 ? "Zzz" : "Mallox");
      }
      break;
    case 4:
      std::erase_if(fields, [](const Field& field) { return field.name == "old_addr" || field.name == "stack_hash"; });
      break;
    case 5:
      return stack_event(random);
    case 6:
      return mapping_event(random);
    default:
      return any_kind(random);
  }
  return map_of(fields);
}

Bytes illegal_event(std::mt19937_64& random) {
  std::vector<Field> fields = usual_fields(random);
  switch (random() % 6) {
    case 0:
      fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(random() % fields.size()));
      break;
    case 1:
      fields.push_back(fields.front());
      break;
    case 2:
      any_of(fields, random).value = from_hex(random() % 2 == 0 ? "ff" : "cb 3ff0000000000000");
      break;
    case 3:
      fields.front().value = from_hex("ce 80000000");
      break;
    case 4: {
      Bytes made = map_of(fields);
      made[1] = std::byte{0x93};  // a list as a key
      return made;
    }
    default:
      return from_hex("c1");
  }
  return map_of(fields);
}

}  // namespace

Bytes mixed_content(std::mt19937_64& random, std::size_t count, OddParts parts) {
  Bytes content;
  for (std::size_t i = 0; i < count; ++i) {
    const bool odd = parts != OddParts::kNone && random() % 4 == 0;
    const bool illegal = parts == OddParts::kIllegalToo && random() % 40 == 0;
    append(content, illegal ? illegal_event(random) : odd ? legal_event(random) : usual_event(random));
  }
  return content;
}

}  // namespace memtrack::test
