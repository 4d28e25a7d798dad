// Counting: tables in device memory, several copies so that few multiprocessors meet at one, a larger one for
// what finds no place there, and their way to the host.
#pragma once

#include "patches/gpu_group.cuh"

namespace cuvein {
namespace gpu {

// The next bytes of the ring, see emit.cuh: asked for, which takes a while. One lane.
struct Reservation {
  unsigned long long start, limit;
};
CUVEIN_FAST Reservation ask_ring(Channel* channel, uint32_t bytes) {
  RingCounters* counters = in_global(channel->counters);
  Reservation asked;
  asked.limit = fresh(&counters->limit);
  asked.start = atomicAdd(&counters->reserved, static_cast<unsigned long long>(bytes));
  return asked;
}
// Waits until the host has given them back. False: the kernel is to end.
CUVEIN_FAST bool await_ring(Channel* channel, uint32_t bytes, const Reservation& asked) {
  const unsigned long long start = asked.start;
  if (start + bytes <= asked.limit) return true;
  uint64_t taken = fresh(channel->consumed);
  while (start + bytes > taken + channel->mask + 1 && taken != kNoMore) {
    pause();
    taken = fresh(channel->consumed);
  }
  if (taken == kNoMore) return false;
  atomicMax(&in_global(channel->counters)->limit, static_cast<unsigned long long>(taken + channel->mask + 1));
  return true;
}
CUVEIN_FAST bool reserve_ring(Channel* channel, uint32_t bytes, uint64_t* position) {
  const Reservation asked = ask_ring(channel, bytes);
  *position = asked.start;
  return await_ring(channel, bytes, asked);
}

// A record of the engine. `kind` is that of the record; `outcome`: at a site whose node is `key`, or 0.
CUVEIN_FAST void write_record(const Group& group, uint64_t position, uint32_t kind, uint64_t key,
                              uint64_t count, uint64_t outcome = 0) {
  uint8_t* ring = group.channel()->ring;
  const uint64_t mask = group.channel()->mask;
  publish_quad(ring + (position & mask), sizeof(RecordHeader) / kRecordUnit | kind << 8, 0, group.active, 0);
  publish_quad(ring + ((position + 16) & mask), static_cast<uint32_t>(outcome),
               static_cast<uint32_t>(outcome >> 32), group.slot(), grid_of_launch());
  publish_quad(ring + ((position + 32) & mask), static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32),
               static_cast<uint32_t>(count), static_cast<uint32_t>(count >> 32));
}

// One lane's.
CUVEIN_FAST void send(const Group& group, uint32_t kind, uint64_t key, uint64_t count) {
  uint64_t position;
  if (reserve_ring(group.channel(), sizeof(RecordHeader), &position))
    write_record(group, position, kind, key, count);
}

CUVEIN_SLOW void spill(Group group, uint64_t key, uint64_t count) { send(group, kCountRecord, key, count); }

CUVEIN_FAST uint32_t mix_key(uint64_t key) {
  const uint32_t mixed = (static_cast<uint32_t>(key) ^ static_cast<uint32_t>(key >> 25)) * 0x9e3779b1u;
  return (mixed ^ static_cast<uint32_t>(key >> 44)) * 0x85ebca6bu;
}

// A free counter becomes the key's; false when another key was faster.
CUVEIN_SLOW bool claim_counter(Group group, uint32_t number, uint64_t key) {
  Engine* engine = group.engine();
  const unsigned long long before =
      atomicCAS(&group.counters()[number].key, 0ull, static_cast<unsigned long long>(key));
  if (before == 0) engine->used[atomicAdd(&engine->used_count, 1u)] = number;
  return before == 0 || before == key;
}

// Adds what found no counter in the copy. One lane's.
CUVEIN_SLOW void add_elsewhere(Group group, uint64_t key, uint64_t count) {
  Counter* const table = group.counters();
  uint32_t at = mix_key(key) >> (32 - kOverflowBits);
#pragma unroll 1
  for (uint32_t probe = 0; probe < kMostOverflowProbes; ++probe) {
    const uint32_t number = kCopies * kCounters + at;
    const unsigned long long found = table[number].key;
    if (found == key || (found == 0 && claim_counter(group, number, key))) {
      atomicAdd(&table[number].count, static_cast<unsigned long long>(count));
      return;
    }
    at = (at + 1) & (kOverflow - 1);
  }
  spill(group, key, count);
}

// Adds one lane's count.
CUVEIN_FAST void add(const Group& group, uint32_t copy, uint64_t key, uint64_t count) {
  Counter* const table = group.counters();
  uint32_t at = mix_key(key) >> (32 - kCountersBits);
#pragma unroll 1
  for (uint32_t probe = 0; probe < kMostProbes; ++probe) {
    const uint32_t number = copy << kCountersBits | at;
    const unsigned long long found = table[number].key;
    if (found == key || (found == 0 && claim_counter(group, number, key))) {
      atomicAdd(&table[number].count, static_cast<unsigned long long>(count));
      return;
    }
    at = (at + 1) & (kCounters - 1);
  }
  add_elsewhere(group, key, count);
}

constexpr uint32_t kSentTogether = 8;  // records a lane

// Sends every count and empties the tables. Called by the lanes of the last warp of the launch.
CUVEIN_SLOW void send_counts(Group group, uint32_t used) {
  Engine* engine = group.engine();
  const uint32_t step = group.count() * kSentTogether;
#pragma unroll 1
  for (uint32_t start = 0; start < used; start += step) {
    const uint32_t here = used - start < step ? used - start : step;
    uint64_t position = 0;
    bool room = false;
    if (group.leads()) room = reserve_ring(group.channel(), here * sizeof(RecordHeader), &position);
    position = __shfl_sync(group.active, position, group.first());
    room = __shfl_sync(group.active, static_cast<uint32_t>(room), group.first());
#pragma unroll 2
    for (uint32_t i = group.rank(); i < here; i += group.count()) {
      Counter* counter = group.counters() + fresh(&engine->used[start + i]);
      const uint64_t key = fresh(&counter->key), count = fresh(&counter->count);
      publish(&counter->key, 0ull);
      publish(&counter->count, 0ull);
      if (room) write_record(group, position + i * sizeof(RecordHeader), kCountRecord, key, count);
    }
    __syncwarp(group.active);
  }
}

}  // namespace gpu
}  // namespace cuvein
