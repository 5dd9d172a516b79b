#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/partition/record.hpp"

namespace amrbench::apps {
namespace {

PartitionRow sample() {
  PartitionRow row;
  row.method = "gensfc";
  row.quality = {.parts = 4,
                 .empty_parts = 1,
                 .load_max = 8,
                 .load_mean = 4,
                 .load_min = 0,
                 .has_graph = true,
                 .degree_max = 3,
                 .degree_mean = 1.5,
                 .edge_cut_max = 10,
                 .edge_cut_total = 12,
                 .comm_volume_max = 7,
                 .comm_volume_total = 20,
                 .boundary_max = 6,
                 .boundary_total = 15,
                 .pieces_max = 2,
                 .pieces_total = 5};
  row.times_s = {3, 1, 2};
  row.memory_bytes = 100;
  return row;
}

TEST(PartitionRecord, NamesOfTheContract) {
  const support::Json json = to_json(sample());
  for (const char* name : {"method", "parts", "load_max", "load_mean", "degree_max", "edge_cut_max", "edge_cut_total",
                           "comm_volume_max", "time_s", "memory_bytes"}) {
    ASSERT_TRUE(json.contains(name)) << name;
    EXPECT_FALSE(json[name].is_null()) << name;
  }
  EXPECT_EQ(json["parts"], 4);
  EXPECT_EQ(json["imbalance"], 2.0);
  EXPECT_EQ(json["edge_cut_max"], 10);
  EXPECT_EQ(json["edge_cut_total"], 12);
  EXPECT_EQ(json["comm_volume_max"], 7);
  EXPECT_EQ(json["degree_max"], 3);
  EXPECT_EQ(json["pieces_max"], 2);
  EXPECT_EQ(json["time_s"], 2.0);
  EXPECT_EQ(json["time_min_s"], 1.0);
  EXPECT_EQ(json["time_max_s"], 3.0);
  EXPECT_EQ(json["repetitions"], 3);
  EXPECT_EQ(json["memory_bytes"], 100);
  EXPECT_TRUE(json["moved_weight"].is_null());
  EXPECT_TRUE(json["node_degree_max"].is_null());
}

TEST(PartitionRecord, StagesAndModelStandWhereTheyAreKnown) {
  PartitionRow row = sample();
  EXPECT_TRUE(to_json(row)["top_nodes_s"].is_null());
  EXPECT_TRUE(to_json(row)["model_bsp_s"].is_null());
  row.stages = {{}, {}, {}};  // of a method that does not tell
  EXPECT_TRUE(to_json(row)["transfer_rounds"].is_null());
  EXPECT_EQ(to_table({&row, 1}).find("rounds"), std::string::npos);
  row.stages = {{1, 2, 3, 4, 5, 6, 7}, {3, 2, 9, 4, 5, 6, 7}, {2, 2, 4, 4, 5, 6, 7}};
  row.model = partitioners::ModelledCost{.comp_s = 1, .comm_s = 2, .bsp_s = 3, .overlap_s = 4, .total_s = 7};
  const support::Json json = to_json(row);
  EXPECT_EQ(json["top_nodes_s"], 2.0);
  EXPECT_EQ(json["balancing_s"], 2.0);
  EXPECT_EQ(json["transfer_s"], 4.0);
  EXPECT_EQ(json["subtrees_s"], 4.0);
  EXPECT_EQ(json["traversal_s"], 5.0);
  EXPECT_EQ(json["return_s"], 6.0);
  EXPECT_EQ(json["transfer_rounds"], 7);
  EXPECT_EQ(json["model_comp_s"], 1.0);
  EXPECT_EQ(json["model_comm_s"], 2.0);
  EXPECT_EQ(json["model_bsp_s"], 3.0);
  EXPECT_EQ(json["model_overlap_s"], 4.0);
  EXPECT_EQ(json["model_total_s"], 7.0);
  EXPECT_NE(to_table({&row, 1}).find(
                "  top nodes 2 s, balancing 2 s, transfer 4 s, subtrees 4 s, traversal 5 s, return 6 s, 7 "
                "rounds\n"),
            std::string::npos)
      << to_table({&row, 1});
}

TEST(PartitionRecord, WhatIsNotKnownIsNull) {
  PartitionRow row = sample();
  row.quality = {.parts = 2};
  row.times_s = {1, 2};
  row.moved_weight = 2.5;
  const support::Json json = to_json(row);
  for (const char* name :
       {"degree_max", "edge_cut_max", "edge_cut_total", "comm_volume_max", "pieces_max", "imbalance"})
    EXPECT_TRUE(json[name].is_null()) << name;
  EXPECT_EQ(json["time_s"], 1.5);
  EXPECT_EQ(json["moved_weight"], 2.5);
}

TEST(PartitionRecord, CsvHasTheColumnsOfTheRows) {
  std::vector<PartitionRow> rows{sample(), sample()};
  rows[1].method = "a,b";
  rows[1].quality.has_graph = false;
  const std::string csv = to_csv(rows);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  EXPECT_TRUE(csv.starts_with("method,parts,load_max,"));
  EXPECT_NE(csv.find("\ngensfc,4,8.0,4.0,0.0,2.0,1,3,1.5,10,12,7,20,6,15,2,5,"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\n\"a,b\",4,8.0,4.0,0.0,2.0,1,,,,,,,,,,,"), std::string::npos) << csv;
  const std::string header = csv.substr(0, csv.find('\n'));
  EXPECT_EQ(static_cast<std::size_t>(std::count(header.begin(), header.end(), ',')) + 1, to_json(rows[0]).size());
}

TEST(PartitionRecord, TableHasALineARow) {
  const std::vector<PartitionRow> rows{sample(), sample()};
  const std::string table = to_table(rows);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3);
  EXPECT_NE(table.find("gensfc"), std::string::npos);
}

}  // namespace
}  // namespace amrbench::apps
