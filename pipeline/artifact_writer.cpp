#include "pipeline/artifact_writer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "codec/frame_encoder.h"
#include "codec/index.h"
#include "pipeline/module_spill.h"
#include "pipeline/output_file.h"
#include "pipeline/reorder_buffer.h"
#include "pipeline/sequence_window.h"

namespace memtrack::pipeline {
namespace {

// A frame of the suffix: at most this much content and this many events.
constexpr std::size_t kSuffixFrameBytes = 1u << 20;
constexpr std::size_t kSuffixFrameEvents = 16'384;
constexpr std::size_t kReadBytes = 1u << 20;

}  // namespace

std::string artifact_name(std::int32_t root_pid) {
  return std::to_string(root_pid) + ".MemtrackArtifact.msgpack";
}

struct ArtifactWriter::State {
  State(const WriteOptions& write_options, OutputFile output, FrameEncoder frames, ModuleSpill module_spill)
      : options(write_options),
        file(std::move(output)),
        encoder(std::move(frames)),
        suffix(write_options.directory.empty() ? "." : write_options.directory),
        modules(std::move(module_spill)),
        indexed(write_options.index) {}

  WriteOptions options;
  OutputFile file;
  FrameEncoder encoder;  // of frames that are made here: the suffix, the empty one
  ReorderBuffer<Frame> waiting{kMaxSequenceWindow};
  SpillFile suffix;     // Mapping events for the end of the file, not compressed
  ModuleSpill modules;  // of the index
  Digest digest;        // its frames stay empty without an index
  bool indexed;         // an index is wanted, and not given up
  Totals totals;
  std::optional<Error> failure;  // ends it

  Result<void> accept(Frame frame);
  Result<void> write_frame(const Frame& frame);
  Result<void> write_data(std::span<const std::byte> bytes, std::uint64_t decompressed_bytes,
                          const FrameSummary& summary);
  Result<void> encode_and_write(std::span<const std::byte> content, const FrameSummary& summary);
  void note_frame(const IndexedFrame& frame);
  void give_up_index();
  Result<void> write_suffix();
  Result<void> write_index(const LossCounters& losses);
  Result<void> complete(const LossCounters& losses);
  /// Remembers a failure, so that every later call tells it again.
  Result<void> kept(Result<void> result) {
    if (!result) failure = result.error();
    return result;
  }
};

Result<void> ArtifactWriter::State::accept(Frame frame) {
  const std::uint64_t seq = frame.seq;
  if (!waiting.put(seq, std::move(frame))) {
    return std::unexpected(Error{.code = ErrorCode::kStageFailed,
                                 .message = "the writer was given frame " + std::to_string(seq) + " where frame " +
                                            std::to_string(waiting.next_seq()) +
                                            " is next: it came twice or too far ahead"});
  }
  while (auto next = waiting.take_next()) {
    if (auto written = write_frame(*next); !written) return written;
  }
  return {};
}

Result<void> ArtifactWriter::State::write_frame(const Frame& frame) {
  // All its events may have gone to the suffix.
  if (frame.summary.event_count > 0) {
    if (auto written = write_data(frame.bytes->bytes(), frame.decompressed_bytes, frame.summary); !written) {
      return written;
    }
  }
  if (indexed && frame.modules) {
    if (auto kept_aside = modules.append(frame.modules->bytes()); !kept_aside) return kept_aside;
  }
  return frame.suffix ? suffix.append(frame.suffix->bytes()) : Result<void>{};
}

Result<void> ArtifactWriter::State::write_data(std::span<const std::byte> bytes, std::uint64_t decompressed_bytes,
                                               const FrameSummary& summary) {
  const std::uint64_t offset = file.size();
  if (auto written = file.write(bytes); !written) return written;
  note_frame({.offset = offset,
              .compressed_bytes = bytes.size(),
              .decompressed_bytes = decompressed_bytes,
              .summary = summary});
  totals.events += summary.event_count;
  totals.frames += 1;
  totals.raw_bytes += decompressed_bytes;
  totals.file_bytes = file.size();
  return {};
}

Result<void> ArtifactWriter::State::encode_and_write(std::span<const std::byte> content, const FrameSummary& summary) {
  ByteBuffer frame;
  if (auto encoded = encoder.encode(content, frame); !encoded) return encoded;
  return write_data(frame.bytes(), content.size(), summary);
}

void ArtifactWriter::State::note_frame(const IndexedFrame& frame) {
  if (!indexed) return;
  if (digest.frames.size() == options.index_frames) return give_up_index();
  digest.frames.push_back(frame);
}

/// The artifact is whole without it.
void ArtifactWriter::State::give_up_index() {
  indexed = false;
  digest = {};
  modules.drop();
  totals.note =
      "the artifact has too many frames for an index, so it has none: losses are told only here, and readers "
      "take longer; larger batch.events or batch.flush_interval make fewer frames";
}

/// The Mapping events that were taken out of the frames, in frames of their own.
Result<void> ArtifactWriter::State::write_suffix() {
  EventBatch scratch(suffix.size() > 0 ? kSuffixFrameEvents : 0);
  ByteBuffer content;
  std::uint64_t read = 0;
  std::size_t wanted = kReadBytes;
  while (read < suffix.size() || !content.empty()) {
    const std::size_t before = content.size();
    if (auto got = suffix.read(read, wanted - std::min(before, wanted), content); !got) return got;
    read += content.size() - before;
    const auto piece = front_events(content.bytes(), kSuffixFrameBytes, scratch);
    if (!piece) return std::unexpected(piece.error());
    if (piece->bytes == 0 && read == suffix.size()) {
      return std::unexpected(Error{.code = ErrorCode::kStageFailed, .message = "the suffix ends inside an event"});
    }
    wanted = piece->bytes == 0 ? 2 * wanted : kReadBytes;  // for an event that is larger than that
    if (piece->bytes == 0) continue;
    const auto events = content.bytes().first(piece->bytes);
    if (auto written = encode_and_write(events, piece->summary); !written) return written;
    if (indexed) {
      if (auto kept_aside = modules.append(events); !kept_aside) return kept_aside;
    }
    content.consume(piece->bytes);
  }
  return {};
}

Result<void> ArtifactWriter::State::write_index(const LossCounters& losses) {
  if (auto flushed = modules.flush(); !flushed) return flushed;
  digest.losses = losses;
  digest.has_modules = modules.present();
  digest.modules_bytes = modules.size();
  ByteBuffer head;
  ByteBuffer tail;
  ByteBuffer seek_table;
  auto encoded = encode_digest_head(digest, head);
  if (encoded) encoded = encode_digest_tail(digest, tail);
  if (encoded) encoded = encode_seek_table(digest, head.size() + digest.modules_bytes + tail.size(), seek_table);
  if (!encoded && encoded.error().code == ErrorCode::kLimitExceeded) {
    give_up_index();
    return {};
  }
  if (!encoded) return encoded;
  if (auto written = file.write(head.bytes()); !written) return written;
  if (auto written = modules.copy_to(file); !written) return written;
  if (auto written = file.write(tail.bytes()); !written) return written;
  return file.write(seek_table.bytes());
}

Result<void> ArtifactWriter::State::complete(const LossCounters& losses) {
  if (waiting.held() > 0) {
    return std::unexpected(
        Error{.code = ErrorCode::kStageFailed,
              .message = "frame " + std::to_string(waiting.next_seq()) + " never came to the writer"});
  }
  if (auto written = write_suffix(); !written) return written;
  if (totals.frames == 0) {
    if (auto written = encode_and_write({}, {}); !written) return written;
  }
  if (indexed) {
    if (auto written = write_index(losses); !written) return written;
  }
  totals.file_bytes = file.size();
  auto path = file.commit(options.sync);
  if (!path) return std::unexpected(std::move(path.error()));
  totals.path = std::move(*path);
  return {};
}

ArtifactWriter::ArtifactWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ArtifactWriter::ArtifactWriter(ArtifactWriter&&) noexcept = default;
ArtifactWriter& ArtifactWriter::operator=(ArtifactWriter&&) noexcept = default;
ArtifactWriter::~ArtifactWriter() = default;

Result<ArtifactWriter> ArtifactWriter::create(const WriteOptions& options, const CompressOptions& compress,
                                              std::int32_t root_pid) {
  auto encoder = FrameEncoder::create(compress.level, compress.checksum);
  if (!encoder) return std::unexpected(std::move(encoder.error()));
  auto module_encoder = FrameEncoder::create(compress.level, compress.checksum);
  if (!module_encoder) return std::unexpected(std::move(module_encoder.error()));
  auto file = OutputFile::create(options.directory, artifact_name(root_pid), options.input);
  if (!file) return std::unexpected(std::move(file.error()));
  ModuleSpill modules(options.directory.empty() ? "." : options.directory, options.index_modules_bytes,
                      std::move(*module_encoder));
  return ArtifactWriter(std::make_unique<State>(options, std::move(*file), std::move(*encoder), std::move(modules)));
}

Result<void> ArtifactWriter::add(Frame frame) {
  if (state_->failure) return std::unexpected(*state_->failure);
  return state_->kept(state_->accept(std::move(frame)));
}

std::uint64_t ArtifactWriter::written_seq() const {
  return state_->waiting.next_seq();
}

Result<void> ArtifactWriter::sync() {
  if (state_->failure) return std::unexpected(*state_->failure);
  if (!state_->options.sync) return {};
  return state_->kept(state_->file.sync());
}

Result<ArtifactWriter::Totals> ArtifactWriter::finish(const LossCounters& losses) {
  if (state_->failure) return std::unexpected(*state_->failure);
  if (auto completed = state_->kept(state_->complete(losses)); !completed) {
    return std::unexpected(std::move(completed.error()));
  }
  state_->failure = Error{.code = ErrorCode::kClosed, .message = "the artifact is already complete"};
  return state_->totals;
}

Result<void> ArtifactWriter::salvage() {
  if (state_->failure) return std::unexpected(*state_->failure);
  auto written = state_->kept(state_->write_suffix());
  if (written) state_->failure = Error{.code = ErrorCode::kClosed, .message = "the artifact was given up"};
  return written;
}

void ArtifactWriter::discard() {
  state_->file.discard();
}

ArtifactWriter::Totals ArtifactWriter::totals() const {
  return state_->totals;
}

}  // namespace memtrack::pipeline
