#include "profile/document.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace cuvein {
namespace {

using Json = nlohmann::ordered_json;

Json parse(const std::string& text, const char* what) {
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded())
    throw std::invalid_argument(std::string("the ") + what + " document is not JSON");
  if (!document.is_object())
    throw std::invalid_argument(std::string("the ") + what + " document is not an object");
  return document;
}

std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Nodes and edges are appended as text: building JSON values for them costs more than everything else here.
class Text {
 public:
  Text& raw(const char* text) {
    text_ += text;
    return *this;
  }
  Text& raw(const std::string& text) {
    text_ += text;
    return *this;
  }
  Text& quoted(const char* word) { return raw("\"").raw(word).raw("\""); }  // words that need no escape
  template <typename T>
  Text& number(T value) {
    char digits[24];
    text_.append(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
    return *this;
  }
  Text& histogram(const char* key, const Histogram& histogram) {
    raw(",\"").raw(key).raw("\":[");
    bool first = true;
    for (const auto& [value, executions] : histogram) {
      if (executions == 0) continue;
      raw(first ? "[" : ",[").number(value).raw(",").number(executions).raw("]");
      first = false;
    }
    return raw("]");
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Of a table of the launch document, what the graph refers to, and where each entry has gone.
class Kept {
 public:
  explicit Kept(size_t size) : new_index_(size, -1) {}
  size_t size() const { return new_index_.size(); }
  void keep(size_t index) { new_index_[index] = 0; }
  // Calls use(index) for what is kept, in order, and numbers it.
  template <typename Use>
  void number(Use use) {
    int64_t next = 0;
    for (size_t index = 0; index < new_index_.size(); ++index) {
      if (new_index_[index] < 0) continue;
      new_index_[index] = next++;
      use(index);
    }
  }
  int64_t operator[](size_t index) const { return new_index_[index]; }

 private:
  std::vector<int64_t> new_index_;
};

size_t length_of(const Json& launch, const char* key) {
  const auto table = launch.find(key);
  if (table == launch.end() || !table->is_array())
    throw std::invalid_argument(std::string("the launch document needs a list in \"") + key + '"');
  return table->size();
}

void apply(Json* launch, const char* key, Kept* entries) {
  Json kept = Json::array();
  Json& table = (*launch)[key];
  entries->number([&](size_t index) { kept.push_back(std::move(table[index])); });
  table = std::move(kept);
}

bool refers(const Json& value, const char* key, size_t size) {
  const auto found = value.find(key);
  return found != value.end() && found->is_number_unsigned() && found->get<uint64_t>() < size;
}

void renumber(Json* list, const char* key, const Kept& kept) {
  for (Json& value : *list)
    if (value.is_object() && refers(value, key, kept.size())) value[key] = kept[value[key].get<size_t>()];
}

// What the launch's tensors lie in.
void keep_parents(const Json& launch, Kept* allocations) {
  const Json& table = launch["allocations"];
  for (size_t index = 0; index < table.size(); ++index) {
    if ((*allocations)[index] < 0 || !table[index].is_object()) continue;
    if (refers(table[index], "parent", table.size())) allocations->keep(table[index]["parent"].get<size_t>());
  }
}

// Of a call site.
constexpr const char* kOtherSites[] = {"forward", "caller"};

// Call sites are those of the launch and of the allocations that are left, files those of the frames there.
void keep_sites(Json* launch) {
  if (!launch->contains("sites") || !launch->contains("host_modules")) return;
  Kept sites(length_of(*launch, "sites"));
  if (refers(*launch, "site", sites.size())) sites.keep((*launch)["site"].get<size_t>());
  for (const Json& allocation : (*launch)["allocations"])
    if (refers(allocation, "site", sites.size())) sites.keep(allocation["site"].get<size_t>());
  // A site may name others, which may stand anywhere.
  const Json& table = (*launch)["sites"];
  for (bool more = true; more;) {
    more = false;
    for (size_t index = 0; index < sites.size(); ++index) {
      if (sites[index] < 0 || !table[index].is_object()) continue;
      for (const char* key : kOtherSites) {
        if (!refers(table[index], key, sites.size())) continue;
        const auto other = table[index][key].get<size_t>();
        more = more || sites[other] < 0;
        sites.keep(other);
      }
    }
  }
  apply(launch, "sites", &sites);
  for (const char* key : kOtherSites) renumber(&(*launch)["sites"], key, sites);
  if (refers(*launch, "site", sites.size())) (*launch)["site"] = sites[(*launch)["site"].get<size_t>()];
  renumber(&(*launch)["allocations"], "site", sites);

  Kept modules(length_of(*launch, "host_modules"));
  const auto frames = [](Json& site) -> Json* {
    return site.is_object() && site.contains("native") && site["native"].is_array() ? &site["native"]
                                                                                    : nullptr;
  };
  for (Json& site : (*launch)["sites"]) {
    if (Json* list = frames(site)) {
      for (const Json& frame : *list)
        if (frame.is_object() && refers(frame, "module", modules.size()))
          modules.keep(frame["module"].get<size_t>());
    }
  }
  apply(launch, "host_modules", &modules);
  for (Json& site : (*launch)["sites"])
    if (Json* list = frames(site)) renumber(list, "module", modules);
}

void amend(Json* launch, const std::string& text) {
  const Json tensors = Json::parse(text, nullptr, false);
  auto table = launch->find("allocations");
  if (!tensors.is_array() || table == launch->end() || !table->is_array())
    throw std::invalid_argument("the list of tensors makes no sense");
  for (const Json& tensor : tensors) {
    const bool known = tensor.is_object() && refers(tensor, "allocation", table->size());
    if (!known || (!tensor.contains("name") && !(tensor.contains("shape") && tensor.contains("dtype"))))
      throw std::invalid_argument("the list of tensors makes no sense");
    Json& allocation = (*table)[tensor["allocation"].get<size_t>()];
    if (!allocation.is_object()) continue;
    for (const char* key : {"name", "shape", "dtype"})
      if (tensor.contains(key)) allocation[key] = tensor[key];
  }
}

struct FunctionRange {
  int64_t offset, size;
  size_t index;
};

bool by_offset(const FunctionRange& a, const FunctionRange& b) { return a.offset < b.offset; }

std::vector<FunctionRange> function_ranges(const Json& functions) {
  std::vector<FunctionRange> ranges;
  for (size_t index = 0; index < functions.size(); ++index) {
    const Json& function = functions[index];
    if (!function.is_object() || !function.contains("offset") || !function["offset"].is_number_integer() ||
        !function.contains("size") || !function["size"].is_number_integer())
      throw std::invalid_argument("the launch document has a function without offset or size");
    ranges.push_back({function["offset"].get<int64_t>(), function["size"].get<int64_t>(), index});
  }
  std::stable_sort(ranges.begin(), ranges.end(), by_offset);
  return ranges;
}

struct Place {
  size_t function;
  int64_t pc;
};

// Code outside every function (a table that came out short) is still the kernel's as far as anyone can tell.
Place locate(const std::vector<FunctionRange>& ranges, int32_t pc) {
  auto after =
      std::upper_bound(ranges.begin(), ranges.end(), int64_t{pc},
                       [](int64_t value, const FunctionRange& range) { return value < range.offset; });
  if (after != ranges.begin()) {
    const FunctionRange& range = *std::prev(after);
    if (pc - range.offset < range.size) return {range.index, pc - range.offset};
  }
  return {0, pc};
}

void write_node(Text* text, size_t id, const Node& node, const Place& place, const Kept& functions,
                const Kept& allocations) {
  text->raw("{\"id\":").number(id).raw(",\"function\":").number(functions[place.function]);
  text->raw(",\"pc\":").number(place.pc).raw(",\"space\":").quoted(name(node.space));
  text->raw(",\"type\":").quoted(name(node.type)).raw(",\"size\":").number(node.size);
  text->raw(",\"asynchronous\":").raw(node.asynchronous ? "true" : "false");
  text->raw(",\"executions\":").number(node.executions).raw(",\"bytes\":").number(node.bytes);
  text->histogram("lanes", node.lanes)
      .histogram("addresses", node.addresses)
      .histogram("sectors", node.sectors);
  text->histogram("words", node.words).histogram("wavefronts", node.wavefronts);
  text->histogram("ideal_wavefronts", node.ideal_wavefronts).raw(",\"allocations\":[");
  bool first = true;
  for (const auto& [allocation, bytes] : node.allocation_bytes) {
    text->raw(first ? "{\"allocation\":" : ",{\"allocation\":");
    if (allocation == kNoAllocation)
      text->raw("null");
    else
      text->number(allocations[static_cast<size_t>(allocation)]);
    text->raw(",\"bytes\":").number(bytes).raw("}");
    first = false;
  }
  text->raw("]}");
}

void write_edge(Text* text, const Edge& edge) {
  text->raw("{\"node\":").number(edge.node).raw(",\"origin\":");
  if (edge.origin == kUntracked)
    text->raw("null");
  else
    text->number(edge.origin);
  text->raw(",\"label\":").quoted(name(edge.label)).raw(",\"bytes\":").number(edge.bytes);
  text->raw(",\"count\":").number(edge.count).raw(",\"unordered\":");
  if (edge.unordered < 0)
    text->raw("null}");
  else
    text->number(edge.unordered).raw("}");
}

void write_hazard(Text* text, const HiddenHazard& hazard) {
  text->raw("{\"node\":").number(hazard.node).raw(",\"origin\":").number(hazard.origin);
  text->raw(",\"bytes\":").number(hazard.bytes).raw("}");
}

void write_barrier(Text* text, const Barrier& barrier, const Place& place, const Kept& functions) {
  text->raw("{\"function\":").number(functions[place.function]).raw(",\"pc\":").number(place.pc);
  text->raw(",\"kind\":").quoted(name(barrier.kind)).raw(",\"executions\":").number(barrier.executions);
  text->raw(",\"ordered_bytes\":");
  if (barrier.ordered_bytes < 0)
    text->raw("null}");
  else
    text->number(barrier.ordered_bytes).raw("}");
}

// What the graph refers to.
struct References {
  Kept functions, allocations;
  std::vector<Place> nodes, barriers;

  References(const Graph& graph, const std::vector<FunctionRange>& ranges, size_t function_count,
             size_t allocation_count)
      : functions(function_count), allocations(allocation_count) {
    if (function_count == 0)
      throw std::invalid_argument("the launch document has no function; the first must be the kernel");
    functions.keep(0);
    nodes.reserve(graph.nodes.size());
    for (const Node& node : graph.nodes) {
      nodes.push_back(locate(ranges, node.pc));
      functions.keep(nodes.back().function);
      for (const auto& [allocation, bytes] : node.allocation_bytes) {
        if (allocation == kNoAllocation) continue;
        if (allocation < 0 || static_cast<size_t>(allocation) >= allocation_count)
          throw std::invalid_argument("the launch document has fewer allocations than the graph refers to");
        allocations.keep(static_cast<size_t>(allocation));
      }
    }
    for (const Barrier& barrier : graph.barriers) {
      barriers.push_back(locate(ranges, barrier.pc));
      functions.keep(barriers.back().function);
    }
  }
};

// Launches by the device: warps that got to where they are made. One of the library's functions may call
// another.
template <typename Launches>
uint64_t device_launches(const Graph& graph, const References& references, Launches launches) {
  uint64_t warps = 0;
  for (size_t node = 0; node < graph.nodes.size(); ++node)
    if (launches(references.nodes[node].function)) warps = std::max(warps, graph.nodes[node].executions);
  return warps;
}

void write_coverage(Text* text, const Graph& graph, uint64_t device_launches) {
  text->raw("{\"accesses\":{");
  for (unsigned space = 0; space < kSpaceCount; ++space)
    text->raw(space ? "," : "")
        .quoted(name(static_cast<Space>(space)))
        .raw(":")
        .number(graph.accesses[space]);
  text->raw("},\"not_analysed\":[");
  bool first = true;
  for (unsigned kind = 0; kind < kInstructionCount; ++kind) {
    uint64_t executions = graph.not_analysed[kind];
    if (static_cast<Instruction>(kind) == Instruction::kDeviceLaunch) executions += device_launches;
    if (executions == 0) continue;
    text->raw(first ? "{\"instruction\":" : ",{\"instruction\":")
        .quoted(name(static_cast<Instruction>(kind)));
    text->raw(",\"executions\":").number(executions).raw("}");
    first = false;
  }
  text->raw("],\"unknown_bytes\":").number(graph.unknown_bytes).raw(",\"lost_records\":0}");
}

std::string write_profile(const std::string& process_id, const std::string& process, uint64_t sequence,
                          const std::string& launch, const Graph& graph, const char* engine,
                          const char* incomplete, const References& references, uint64_t launches_of_device) {
  Json reason = nullptr;
  if (incomplete)
    reason = incomplete;
  else if (!graph.ended)
    reason = "The end of the launch was never seen, so accesses may be missing.";

  Text text;
  text.raw("{\"format\":\"cuvein launch profile\",\"version\":1,\"id\":");
  text.raw(dump(process_id + "-" + std::to_string(sequence)));
  text.raw(",\"engine\":").quoted(engine).raw(",\"incomplete\":").raw(dump(reason));
  text.raw(",\n\"process\":").raw(process).raw(",\n\"launch\":").raw(launch).raw(",\n\"coverage\":");
  write_coverage(&text, graph, launches_of_device);
  text.raw(",\n\"nodes\":[");
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    text.raw(node ? ",\n" : "\n");
    write_node(&text, node, graph.nodes[node], references.nodes[node], references.functions,
               references.allocations);
  }
  text.raw("],\n\"edges\":[");
  for (size_t edge = 0; edge < graph.edges.size(); ++edge) {
    text.raw(edge ? ",\n" : "\n");
    write_edge(&text, graph.edges[edge]);
  }
  text.raw("],\n\"barriers\":").raw(graph.barriers_known ? "[" : "null");
  for (size_t barrier = 0; barrier < graph.barriers.size(); ++barrier) {
    text.raw(barrier ? ",\n" : "\n");
    write_barrier(&text, graph.barriers[barrier], references.barriers[barrier], references.functions);
  }
  if (graph.barriers_known) text.raw("]");
  for (size_t hazard = 0; hazard < graph.hidden_hazards.size(); ++hazard) {
    text.raw(hazard ? ",\n" : ",\n\"hidden_hazards\":[\n");
    write_hazard(&text, graph.hidden_hazards[hazard]);
  }
  text.raw(graph.hidden_hazards.empty() ? "}\n" : "]}\n");
  return text.take();
}

}  // namespace

// They are calls of the device's runtime library, which keeps its arguments in memory.
bool launches_kernels(const std::string& mangled) { return mangled.rfind("__cudaCDP2LaunchDevice", 0) == 0; }

std::string profile_document(const std::string& process_json, const std::string& launch_json,
                             const Graph& graph, const char* engine, const char* incomplete,
                             const std::string& tensors) {
  const Json process = parse(process_json, "process");
  Json launch = parse(launch_json, "launch");
  if (!process.contains("id") || !process["id"].is_string())
    throw std::invalid_argument("the process document has no \"id\"");
  if (!launch.contains("sequence") || !launch["sequence"].is_number_unsigned())
    throw std::invalid_argument("the launch document has no \"sequence\"");

  if (!tensors.empty()) amend(&launch, tensors);
  const size_t function_count = length_of(launch, "functions");
  const size_t allocation_count = length_of(launch, "allocations");
  References references(graph, function_ranges(launch["functions"]), function_count, allocation_count);
  const uint64_t launches_of_device = device_launches(graph, references, [&](size_t function) {
    return launches_kernels(launch["functions"][function].value("mangled", ""));
  });
  apply(&launch, "functions", &references.functions);
  keep_parents(launch, &references.allocations);
  apply(&launch, "allocations", &references.allocations);
  renumber(&launch["allocations"], "parent", references.allocations);
  keep_sites(&launch);
  return write_profile(process["id"].get<std::string>(), dump(process), launch["sequence"].get<uint64_t>(),
                       dump(launch), graph, engine, incomplete, references, launches_of_device);
}

std::string profile_document(const ProcessParts& process, const LaunchParts& launch, const Graph& graph,
                             const char* engine, const char* incomplete) {
  const std::vector<FunctionParts>& functions = *launch.functions;
  std::vector<FunctionRange> ranges;
  for (size_t index = 0; index < functions.size(); ++index)
    ranges.push_back({functions[index].offset, functions[index].size, index});
  std::stable_sort(ranges.begin(), ranges.end(), by_offset);
  References references(graph, ranges, functions.size(), launch.allocations.size());
  const uint64_t launches_of_device = device_launches(
      graph, references, [&](size_t function) { return functions[function].launches_kernels; });
  std::string document = "{" + launch.before + ",\"functions\":[";
  const auto list = [&](Kept* kept, auto text_of) {
    bool first = true;
    kept->number([&](size_t index) {
      if (!first) document += ',';
      document += text_of(index);
      first = false;
    });
    document += ']';
  };
  list(&references.functions, [&](size_t index) -> const std::string& { return functions[index].document; });
  document += ",\"allocations\":[";
  list(&references.allocations,
       [&](size_t index) -> const std::string& { return launch.allocations[index]; });
  document += launch.after + "}";
  return write_profile(process.id, process.document, launch.sequence, document, graph, engine, incomplete,
                       references, launches_of_device);
}

}  // namespace cuvein
