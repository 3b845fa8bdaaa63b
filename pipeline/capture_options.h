// The settings of the stages of a capture; what [batch], [queue], [compress] and [write] of a configuration file say.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "codec/frame_encoder.h"

namespace memtrack::pipeline {

enum class MappingPlacement { kInline, kSuffix };

struct BatchOptions {
  std::uint32_t events = 65'536;    ///< events that make a frame, 1 to 1,048,576
  std::uint64_t bytes = 64u << 20;  ///< or this much in memory, whatever comes first
  std::chrono::nanoseconds flush_interval = std::chrono::seconds(1);
};

struct QueueOptions {
  std::uint32_t items = 16;        ///< of each hop
  std::uint64_t bytes = 8u << 20;  ///< of each hop
};

struct CompressOptions {
  std::uint32_t workers = 1;  ///< compressor actors, 1 to 64
  int level = kDefaultCompressionLevel;
  bool checksum = true;
};

struct WriteOptions {
  std::string directory = ".";
  bool index = true;
  MappingPlacement mappings = MappingPlacement::kInline;
  bool sync = false;                              ///< fsync at drain and at the end
  std::uint64_t index_modules_bytes = 64u << 20;  ///< cap of the index's module section, before compression
  std::uint32_t index_frames = 1u << 20;          ///< cap of its frames (72 bytes each in memory); over it no index
  std::string input = {};                         ///< a file that is being read and must not be replaced, or empty
};

struct CaptureOptions {
  BatchOptions batch = {};
  QueueOptions queue = {};
  CompressOptions compress = {};
  WriteOptions write = {};
  std::chrono::nanoseconds poll_interval = std::chrono::milliseconds(100);
  std::chrono::nanoseconds shutdown_deadline = std::chrono::seconds(30);
};

}  // namespace memtrack::pipeline
