// Internal to event_fast_path.cpp, which includes this once for each instruction set: no include guard. It needs
// MEMTRACK_TARGET (an attribute for every function), Block (what is compared at once) and any_bit(Block).
//
// The chain from one event to the next decides the speed, so it holds as little as possible and no branch on what
// varies without pattern (kind, width of `size`): kind's name length -> tag of `size` -> where the next event begins.
// Whether all that was right is found out beside the chain, by comparing whole blocks of bytes with images
// (event_forms.h).

MEMTRACK_TARGET inline Block load_block(const std::uint8_t* from) {
  Block block;
  std::memcpy(&block, from, sizeof block);
  return block;
}

/// Bits in which the bytes at `at` differ from the image.
template <std::size_t kBytes>
MEMTRACK_TARGET inline Block difference(const std::uint8_t* at, const forms::Image<kBytes>& image) {
  Block all{};
  for (std::size_t i = 0; i < kBytes; i += sizeof(Block)) {
    all |= (load_block(at + i) ^ load_block(&image.bytes[i])) & load_block(&image.mask[i]);
  }
  return all;
}

/// Where the parts of the event at `start` are, should it have a form.
struct Parts {
  const std::uint8_t* start;
  const std::uint8_t* behind_addr;
  const std::uint8_t* name;
  const std::uint8_t* size_tag;
  const std::uint8_t* next;
  std::uint64_t has_hash;  // 0 or 1
  std::uint32_t own_fields;
  const forms::IntForm* size;
};

template <bool kHashes>
MEMTRACK_TARGET inline Parts find_parts(const std::uint8_t* start, const forms::CommonForm& common) {
  Parts parts;
  parts.start = start;
  parts.behind_addr = start + common.end;
  parts.has_hash = kHashes && *parts.behind_addr == kStackHashTag ? 1 : 0;
  parts.name = parts.behind_addr + forms::kTypeKeyBytes + parts.has_hash * forms::kHashFieldBytes;
  parts.own_fields = *start - kHeaderOfCommon - static_cast<std::uint32_t>(parts.has_hash);
  // Arithmetic where one would ask, since a compiler might make branches of questions.
  const std::uint64_t row = (parts.own_fields + 1) >> 1 & 1;
  const std::uint64_t own_keys = (forms::kOwnKeyBytes >> (8 * parts.own_fields & 63)) & 0xff;
  parts.size_tag = parts.name + 1 + own_keys + (*parts.name & 0x1f);
  parts.size = &forms::kIntForms[row][*parts.size_tag];
  parts.next = parts.size_tag + parts.size->bytes;
  return parts;
}

MEMTRACK_TARGET inline const forms::KindForm& kind_form_of(const Parts& parts) {
  std::uint32_t word;
  std::memcpy(&word, parts.name, sizeof word);
  return forms::kKindForms[forms::kind_slot(word, parts.own_fields, forms::kKindMultiplier)];
}

template <bool kHashes>
MEMTRACK_TARGET inline bool has_form(const Parts& parts, const forms::CommonForm& common, const forms::KindForm& kind) {
  Block differences = difference(parts.start, common.image) | difference(parts.name, kind.image);
  if constexpr (kHashes) differences |= difference(parts.behind_addr, forms::kTypeForms[parts.has_hash]);
  const std::uint64_t no_size = (parts.size->bytes - std::uint64_t{1}) & kind.size_mask;
  return !any_bit(differences) && (no_size >> 32 | (parts.own_fields ^ kind.own_fields)) == 0;
}

MEMTRACK_TARGET inline std::uint64_t load_word(const std::uint8_t* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return __builtin_bswap64(word);
}

MEMTRACK_TARGET inline void store_event(const Parts& parts, const forms::CommonForm& common,
                                        const forms::KindForm& kind, Event* to) {
  // Straight to their place, word by word: an event put together elsewhere and copied in larger parts would wait for
  // its own stores.
  to->timestamp_ns = load_word(parts.start + common.timestamp_at);
  to->addr = load_word(parts.start + common.addr_at) >> common.addr_shift;
  to->pid = static_cast<std::int32_t>(load_word(parts.start + common.pid_at) >> common.pid_shift);
  to->tid = static_cast<std::int32_t>(load_word(parts.start + common.tid_at) >> common.tid_shift);
  const std::uint64_t meta = kind.meta | parts.has_hash * (Event::kHasStackHash << forms::kMetaFlagsShift);
  std::memcpy(reinterpret_cast<std::byte*>(to) + offsetof(Event, kind), &meta, sizeof meta);
  to->alloc.size = (load_word(parts.size_tag + parts.size->skip) >> parts.size->shift) & kind.size_mask;
  to->alloc.old_addr = load_word(parts.name + forms::kOldAddrValueAt) & kind.old_addr_mask;
  to->alloc.stack_hash = load_word(parts.behind_addr + forms::kHashValueAt) & (0 - parts.has_hash);
  to->alloc.reserved = 0;
}

/// Takes events as long as they have forms. kHashes is only whether stack_hash is looked for.
template <bool kStore, bool kHashes>
MEMTRACK_TARGET inline void take(Run& run) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(run.at);
  const auto* const last = reinterpret_cast<const std::uint8_t*>(run.end) - kMaxReach;
  const forms::CommonForm* common = &forms::kCommonForms<kHashes>[run.common];
  Event* to = run.to;
  std::uint64_t events = 0;
  while (at <= last && (!kStore || to != run.to_end)) {
    const Parts parts = find_parts<kHashes>(at, *common);
    const forms::KindForm& kind = kind_form_of(parts);
    if (!has_form<kHashes>(parts, *common, kind)) [[unlikely]] {
      const std::size_t other = common_form_of(at);
      if (other == run.common) {
        run.hashes = run.hashes || *parts.behind_addr == kStackHashTag;
        break;
      }
      run.common = other;
      common = &forms::kCommonForms<kHashes>[other];
      continue;
    }
    at = parts.next;
    if constexpr (kStore) store_event(parts, *common, kind, to++);
    if constexpr (!kStore) ++events;
  }
  run.at = reinterpret_cast<const std::byte*>(at);
  run.events += kStore ? static_cast<std::uint64_t>(to - run.to) : events;
  run.to = to;
}

template <bool kStore>
MEMTRACK_TARGET void take_any(Run& run) {
  if (!run.hashes) take<kStore, false>(run);
  if (run.hashes) take<kStore, true>(run);
}
