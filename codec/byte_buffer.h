// ByteBuffer: a growing array of bytes that never writes zeros first.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace memtrack {

/// Owning byte array for encoders and decoders: grows by doubling, keeps its memory on clear(), leaves new bytes
/// uninitialised. Move-only. One thread at a time. Throws std::bad_alloc where memory is out.
class ByteBuffer {
 public:
  ByteBuffer() = default;
  ByteBuffer(ByteBuffer&& other) noexcept
      : data_(std::move(other.data_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  ByteBuffer& operator=(ByteBuffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  [[nodiscard]] std::byte* data() { return data_.get(); }
  [[nodiscard]] const std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_.get(), size_}; }

  void clear() { size_ = 0; }
  /// Makes room for at least `capacity` bytes in all; contents are kept.
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) grow_to(capacity);
  }
  /// Room for `count` more bytes behind the contents; write there, then call commit().
  [[nodiscard]] std::byte* prepare(std::size_t count) {
    if (capacity_ - size_ < count) grow_to(size_ + count > 2 * capacity_ ? size_ + count : 2 * capacity_);
    return data_.get() + size_;
  }
  /// Adds `count` bytes that were written behind prepare()'s pointer.
  void commit(std::size_t count) { size_ += count; }
  void append(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    std::memcpy(prepare(bytes.size()), bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  /// Drops the first `count` bytes and moves the rest to the front. Precondition: count <= size().
  void consume(std::size_t count) {
    if (count == 0) return;
    std::memmove(data_.get(), data_.get() + count, size_ - count);
    size_ -= count;
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  void grow_to(std::size_t capacity) {
    auto* grown = static_cast<std::byte*>(std::realloc(data_.get(), capacity));
    if (grown == nullptr) throw std::bad_alloc();
    (void)data_.release();
    data_.reset(grown);
    capacity_ = capacity;
  }

  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace memtrack
