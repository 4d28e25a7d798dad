// The way from the patches to the host: a ring of records in pinned host memory. Shared by CUDA and C++.
//
// A launch costs the GPU nothing but its records. The pointer that the Sanitizer API hands to the patches
// ("userdata") is the address of the channel plus the number of the launch's slot: channels are aligned so
// that both can be told apart, and what is known of a launch stays on the host, which completes the records.
// So no parameters are copied at a launch, and launches from CUDA graphs are like any other.
//
// A record is written without a fence and without a second pass over it: the ring is filled with kAbsent,
// which no eight aligned bytes of a record equal (no four, in an array of 32-bit offsets; no byte, in an
// array of sizes), and a record is there when none of it is absent. The host fills what it has taken with
// kAbsent before it gives the place back.
#pragma once

#include <cstdint>

#include "model/record.h"

namespace cuvein {

// Number of the launches of one context that can be open at a time.
constexpr uint64_t kLaunchSlots = uint64_t{1} << 20;
constexpr uint64_t kSlotMask = kLaunchSlots - 1;
// Set in the userdata of a launch that may be analysed on the GPU.
constexpr uint64_t kGpuCandidate = kLaunchSlots;
// Set besides where kernels of a graph share the slot.
constexpr uint64_t kReplay = 2 * kLaunchSlots;
constexpr uint64_t kChannelAlignment = 4 * kLaunchSlots;
// Above all addresses: the launch's family on the GPU engine, see gpu_engine.h.
constexpr unsigned kFamilyShift = 53;
// Where the channel lies that a userdata tells of.
constexpr uint64_t channel_address(uint64_t userdata) {
  return userdata & ((uint64_t{1} << kFamilyShift) - kChannelAlignment);
}

constexpr uint64_t kAbsent = 0x7fff7fff7fff7fff;
constexpr uint32_t kAbsent32 = 0x7fff7fff;
constexpr uint8_t kAbsentLow = 0xff;  // the two bytes kAbsent is made of
constexpr uint8_t kAbsentHigh = 0x7f;

// What the host may say instead of how much it has consumed: records go nowhere and nobody waits for room; or
// the kernels are to end, since the process does.
constexpr uint64_t kAllRoom = uint64_t{1} << 62;
constexpr uint64_t kNoMore = ~uint64_t{0};

// How far the ring is filled. In lines of their own, since everything else is read only.
struct RingCounters {
  alignas(128) unsigned long long reserved;  // bytes reserved by the patches since the start
  alignas(128) unsigned long long limit;     // bytes there is room for: consumed + size when last looked at
};

// Lives in device memory. The GPU engines of a context have channels of their own, all of them to one ring.
struct Channel {
  uint8_t* ring;             // pinned host memory
  uint64_t mask;             // its size, a power of two, less one
  const uint64_t* consumed;  // pinned host memory: bytes taken by the host since the start
  RingCounters* counters;    // behind the first of the channels
};
constexpr uint64_t kRingCountersOffset = 1024;

// How a record differs in the ring from RecordHeader: `launch` is the slot, `reserved` the lower 32 bits of
// the grid id, `pc` those of the virtual address of the instruction (+1 as in RecordHeader), and what belongs
// to inactive lanes is absent.

}  // namespace cuvein
