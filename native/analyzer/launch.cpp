#include "analyzer/launch.h"

#include <algorithm>
#include <stdexcept>

#include "analyzer/hash.h"

namespace cuvein {

namespace {

uint64_t pack(int32_t pc, Space space, AccessType type) {
  return uint64_t{1} << 63 | static_cast<uint64_t>(space) << 40 | static_cast<uint64_t>(type) << 32 |
         static_cast<uint32_t>(pc);
}

uint64_t pack(int32_t pc, BarrierKind kind) {
  return static_cast<uint64_t>(kind) << 32 | static_cast<uint32_t>(pc);
}

// Largest counts of one access: 32 lanes of up to 5 words (16 bytes, misaligned).
constexpr size_t kAddressValues = 33, kFootprintValues = 161;

template <typename Values>
void add_histogram(Histogram& histogram, const Values& values) {
  uint32_t value = 0;
  for (const uint64_t executions : values) {
    if (executions != 0) histogram[value] += executions;
    ++value;
  }
}

}  // namespace

uint32_t NodeNumbers::number(const NodeKey& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [found, added] =
      numbers_.emplace(pack(key.pc, key.space, key.type), static_cast<uint32_t>(keys_.size()));
  if (added) {
    if (keys_.size() >= kMaxNodes)
      throw std::length_error("a kernel with more than 524286 memory instructions cannot be analysed");
    keys_.push_back(key);
  }
  return found->second;
}

uint32_t BarrierNumbers::number(const BarrierKey& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [found, added] =
      numbers_.emplace(pack(key.pc, key.kind), static_cast<uint32_t>(keys_.size() + 1));
  if (added) keys_.push_back(key);
  return found->second;
}

Allocations::Range Allocations::at(uint64_t address) const {
  const auto above = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                      [](uint64_t value, const Range& range) { return value < range.first; });
  uint64_t first = 0;
  if (above != ranges_.begin()) {
    const Range& below = *(above - 1);
    if (address <= below.last) return below;
    first = below.last + 1;
  }
  return {first, above != ranges_.end() ? above->first - 1 : ~uint64_t{0}, kNoAllocation};
}

NodeCounts::NodeCounts(uint32_t node_number, bool in_shared)
    : number(node_number),
      shared(in_shared),
      first(in_shared ? kFootprintValues : kAddressValues),
      second(kFootprintValues),
      third(in_shared ? kFootprintValues : 0) {}

void NodeCounts::add(const Access& access, const Distribution& distribution, bool is_asynchronous) {
  const unsigned active = __builtin_popcount(access.active);
  if (access.sizes == nullptr)
    bytes += active * access.size;
  else
    each_lane(access.active, [&](unsigned lane) { bytes += access.sizes[lane]; });
  size = std::max(size, access.size);
  asynchronous |= is_asynchronous;
  ++lanes[active];
  if (shared) {
    ++first[distribution.words];
    if (!through_l1(access)) ++second[distribution.wavefronts];
    ++third[distribution.ideal_wavefronts];
  } else {
    ++first[distribution.addresses];
    ++second[distribution.sectors];
  }
}

NodeCounts& Counts::node(int32_t pc, Space space, AccessType type) {
  const uint64_t key = pack(pc, space, type);
  if (!table_.empty()) {
    const size_t mask = table_.size() - 1;
    for (size_t at = mix(key) & mask; table_[at].first != 0; at = (at + 1) & mask)
      if (table_[at].first == key) return *table_[at].second;
  }
  nodes_.push_back(std::make_unique<NodeCounts>(
      numbers_.number({pc, space, type}), space == Space::kShared || space == Space::kDistributedShared));
  NodeCounts* const added = nodes_.back().get();
  const auto insert = [this](std::pair<uint64_t, NodeCounts*> entry) {
    const size_t mask = table_.size() - 1;
    size_t at = mix(entry.first) & mask;
    while (table_[at].first != 0) at = (at + 1) & mask;
    table_[at] = entry;
  };
  if (nodes_.size() * 2 > table_.size()) {
    std::vector<std::pair<uint64_t, NodeCounts*>> old(std::max<size_t>(64, table_.size() * 2));
    old.swap(table_);
    for (const auto& entry : old)
      if (entry.first != 0) insert(entry);
  }
  insert({key, added});
  return *added;
}

void Counts::add_range(NodeCounts& node, uint64_t address, uint64_t bytes) {
  while (bytes != 0) {
    if (address < node.range.first || address > node.range.last) {
      node.range = allocations_.at(address);
      node.range_bytes = &node.allocation_bytes[node.range.index];
    }
    const uint64_t here = bytes - 1 <= node.range.last - address ? bytes : node.range.last - address + 1;
    *node.range_bytes += here;
    address += here;
    bytes -= here;
  }
}

void Counts::add_allocations(NodeCounts& node, const Access& access, const Distribution& distribution) {
  if (access.layout == Layout::kRun) {
    add_range(node, access.lane_address(access.first),
              __builtin_popcount(access.active) * uint64_t{access.size});
    return;
  }
  if (access.layout == Layout::kBroadcast) {
    const uint64_t address = access.lane_address(access.first);
    for (unsigned lanes = __builtin_popcount(access.active); lanes != 0; --lanes)
      add_range(node, address, access.size);
    return;
  }
  // Mostly all lanes are where the node was before.
  uint64_t low = distribution.lowest, high = distribution.highest;
  constexpr int64_t far = int64_t{1} << 56;
  if (access.form == AddressForm::kAffine && access.stride < far && access.stride > -far) {
    const uint64_t last = access.lane_address(31 - __builtin_clz(access.active));
    if ((access.stride < 0) == (last < access.address)) {  // otherwise it wraps around
      low = std::min(access.address, last);
      high = std::max(access.address, last);
    }
  }
  if (low > high)
    each_address(access, access.active, [&](unsigned, uint64_t address) {
      low = std::min(low, address);
      high = std::max(high, address);
    });
  if (access.sizes == nullptr && node.range.first <= low && high <= node.range.last &&
      node.range.last - high >= access.size - 1u) {
    *node.range_bytes += __builtin_popcount(access.active) * uint64_t{access.size};
    return;
  }
  each_lane(access.active,
            [&](unsigned lane) { add_range(node, access.lane_address(lane), access.lane_size(lane)); });
}

void Counts::add(Access& access, int32_t pc, bool asynchronous, Distributions& distributions) {
  NodeCounts& counts = node(pc, access.space, access.type);
  const Distribution& distribution = distributions.of(access);
  access.node = counts.number;
  access.layout = distribution.layout;
  counts.add(access, distribution, asynchronous);
  ++accesses[static_cast<unsigned>(access.space)];
  if (access.space == Space::kGlobal) add_allocations(counts, access, distribution);
}

uint32_t Counts::add_barrier(int32_t pc, BarrierKind kind) {
  // Warps reach one barrier after the other.
  const uint64_t key = pack(pc, kind);
  if (last_barrier_ == nullptr || last_barrier_->first != key) {
    const auto [found, added] = barriers_.try_emplace(key);
    if (added) found->second.number = barrier_numbers_.number({pc, kind});
    last_barrier_ = &*found;
  }
  ++last_barrier_->second.executions;
  return last_barrier_->second.number;
}

void Launch::add_barriers(Graph& graph) const {
  const std::vector<BarrierKey>& keys = barriers_.keys();
  for (const BarrierKey& key : keys)
    graph.barriers.push_back({key.pc, key.kind, 0, key.kind == BarrierKind::kBlock ? 0 : -1});
  bool all_plain = true;
  for (const std::unique_ptr<Part>& part : parts_)
    if (part != nullptr) all_plain &= part->blocks.all_barriers_plain();
  for (const std::unique_ptr<Counts>& counts : counts_) {
    if (counts == nullptr) continue;
    for (const auto& [_, count] : counts->barriers())
      graph.barriers[count.number - 1].executions += count.executions;
    const std::vector<uint64_t>& ordered = counts->edges.ordered();
    for (size_t number = 1; number < ordered.size(); ++number)
      graph.barriers[number - 1].ordered_bytes += static_cast<int64_t>(ordered[number]);
  }
  for (Barrier& barrier : graph.barriers)
    if (!all_plain) barrier.ordered_bytes = -1;
  std::sort(graph.barriers.begin(), graph.barriers.end(),
            [](const Barrier& a, const Barrier& b) { return a.pc != b.pc ? a.pc < b.pc : a.kind < b.kind; });
  graph.barriers_known = true;
}

Graph Launch::graph() const {
  const std::vector<NodeKey>& keys = numbers_.keys();
  std::vector<uint32_t> order(keys.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const NodeKey &x = keys[a], &y = keys[b];
    return x.pc != y.pc ? x.pc < y.pc : x.space != y.space ? x.space < y.space : x.type < y.type;
  });
  std::vector<uint32_t> index(order.size());
  Graph graph;
  for (uint32_t i = 0; i < order.size(); ++i) {
    index[order[i]] = i;
    const NodeKey& key = keys[order[i]];
    Node node{};
    node.pc = key.pc;
    node.space = key.space;
    node.type = key.type;
    graph.nodes.push_back(std::move(node));
  }

  std::vector<std::map<int64_t, uint64_t>> allocation_bytes(order.size());
  std::map<std::pair<uint32_t, uint32_t>, EdgeWeight> edges;  // by node and edge key with the sorted numbers
  for (const std::unique_ptr<Counts>& counts : counts_) {
    if (counts == nullptr) continue;
    for (unsigned i = 0; i < kSpaceCount; ++i) graph.accesses[i] += counts->accesses[i];
    for (unsigned i = 0; i < kInstructionCount; ++i) graph.not_analysed[i] += counts->not_analysed[i];
    graph.ended |= counts->ended;
    for (const std::unique_ptr<NodeCounts>& part : counts->nodes()) {
      Node& node = graph.nodes[index[part->number]];
      node.size = std::max(node.size, part->size);
      node.asynchronous |= part->asynchronous;
      node.bytes += part->bytes;
      add_histogram(node.lanes, part->lanes);
      add_histogram(part->shared ? node.words : node.addresses, part->first);
      add_histogram(part->shared ? node.wavefronts : node.sectors, part->second);
      add_histogram(node.ideal_wavefronts, part->third);
      for (const auto& [allocation, bytes] : part->allocation_bytes)
        if (bytes != 0) allocation_bytes[index[part->number]][allocation] += bytes;
    }
    counts->edges.each([&](uint32_t number, uint32_t key, const EdgeWeight& weight) {
      const uint32_t origin = key >> 3;
      const uint32_t sorted = (origin == 0 ? 0 : index[origin - 1] + 1) << 3 | (key & 7);
      EdgeWeight& sum = edges[{index[number], sorted}];
      sum.bytes += weight.bytes;
      sum.count += weight.count;
      sum.unordered += weight.unordered;
    });
  }

  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    for (const auto& [_, executions] : node.lanes) node.executions += executions;
    node.allocation_bytes.assign(allocation_bytes[i].begin(), allocation_bytes[i].end());
    for (const auto& [allocation, bytes] : node.allocation_bytes)
      if (allocation == kNoAllocation) graph.unknown_bytes += bytes;
  }
  for (const auto& [at, weight] : edges) {
    const int64_t origin = static_cast<int64_t>(at.second >> 3) - 1;
    if ((at.second & 7) == kHiddenHazard) {
      graph.hidden_hazards.push_back({at.first, static_cast<uint32_t>(origin), weight.bytes});
      continue;
    }
    const Label label = static_cast<Label>(at.second & 7);
    const auto known = [&] {
      if (label != Label::kThread && label != Label::kWarpDiffInst && label != Label::kBlock) return false;
      const Node& prior = graph.nodes[static_cast<size_t>(origin)];
      if (label == Label::kThread)
        return prior.asynchronous && prior.space == Space::kShared && prior.type == AccessType::kWrite;
      return order_matters(graph.nodes[at.first].type, prior.type);
    };
    graph.edges.push_back({at.first, origin, label, weight.bytes, weight.count,
                           known() ? static_cast<int64_t>(weight.unordered) : -1});
  }
  add_barriers(graph);
  return graph;
}

}  // namespace cuvein
