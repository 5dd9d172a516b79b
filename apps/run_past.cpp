#include "apps/run_past.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "amr/checkpoint/run_state.hpp"

namespace amrbench::apps {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json to_json(const RunPast& past) {
  Json phases = Json::object(), counters = Json::object();
  for (std::size_t p = 0; p < support::kPhases; ++p) {
    const support::PhaseSummary& s = past.metrics.phases[p];
    phases[std::string(support::phase_name(static_cast<support::Phase>(p)))] = {s.min_s, s.mean_s, s.max_s, s.calls};
  }
  for (const auto& [name, counter] : past.metrics.counters) counters[name] = {counter.sum, counter.max};
  return {{"time_s", past.time_s},
          {"memory_bytes_max_rank", past.memory_bytes_max_rank},
          {"phases", phases},
          {"counters", counters},
          {"checkpoints", past.checkpoints},
          {"checkpoint_bytes", past.checkpoint_bytes},
          {"restarts", past.restarts},
          {"restart_step", past.restart_step}};
}

RunPast run_past_from_json(const Json& json) {
  RunPast past;
  past.time_s = json.at("time_s").get<double>();
  past.memory_bytes_max_rank = amr::whole_number(json.at("memory_bytes_max_rank"));
  for (std::size_t p = 0; p < support::kPhases; ++p) {
    const Json& s = json.at("phases").at(std::string(support::phase_name(static_cast<support::Phase>(p))));
    past.metrics.phases[p] = {s.at(0).get<double>(), s.at(1).get<double>(), s.at(2).get<double>(),
                              amr::whole_number(s.at(3))};
  }
  for (const auto& counter : json.at("counters").items())
    past.metrics.counters[counter.key()] = {amr::whole_number(counter.value().at(0)),
                                            amr::whole_number(counter.value().at(1))};
  past.checkpoints = amr::whole_number(json.at("checkpoints"));
  past.checkpoint_bytes = amr::whole_number(json.at("checkpoint_bytes"));
  past.restarts = amr::whole_number(json.at("restarts"));
  past.restart_step = amr::whole_number(json.at("restart_step"), -1);
  return past;
}

support::MetricsSummary after(const support::MetricsSummary& past, const support::MetricsSummary& now) {
  support::MetricsSummary all = past;
  for (std::size_t p = 0; p < support::kPhases; ++p) {
    all.phases[p].min_s += now.phases[p].min_s;
    all.phases[p].mean_s += now.phases[p].mean_s;
    all.phases[p].max_s += now.phases[p].max_s;
    all.phases[p].calls += now.phases[p].calls;
  }
  for (const auto& [name, counter] : now.counters) {
    support::CounterSummary& sum = all.counters[name];
    const bool is_peak = name.ends_with("memory_bytes");  // Metrics::count_max()
    sum.sum = is_peak ? std::max(sum.sum, counter.sum) : sum.sum + counter.sum;
    sum.max = is_peak ? std::max(sum.max, counter.max) : sum.max + counter.max;
  }
  return all;
}

}  // namespace amrbench::apps
