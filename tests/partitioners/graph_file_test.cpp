#include "partitioners/inputs/graph_file.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/error.hpp"

namespace amrbench::partitioners {
namespace {

/// The message that parsing ends with, "" when it does not.
std::string problem(std::string_view text) {
  try {
    parse_graph(text, "g.graph");
  } catch (const support::InputError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

TEST(GraphFile, PlainWithCommentsAndEmptyRows) {
  const GraphFile file = parse_graph("% a triangle, a point alone\n4 3\r\n 3 2\n1 3\n% in between\n\t2 1 \n\n", "g");
  EXPECT_EQ(file.graph.offsets, (std::vector<std::int64_t>{0, 2, 4, 6, 6}));
  EXPECT_EQ(file.graph.adjacent, (std::vector<std::int32_t>{1, 2, 0, 2, 0, 1}));
  EXPECT_EQ(file.constraints, 0);
  EXPECT_TRUE(file.vertex_weights.empty());
  EXPECT_TRUE(file.vertex_sizes.empty());
  EXPECT_TRUE(file.edge_weights.empty());
}

TEST(GraphFile, EveryFormat) {
  // A path 1 - 2 - 3 with size 10 v, weights v (and 100 v), edge weights 7 and 8.
  struct Case {
    std::string_view text;
    bool sizes, edge_weights;
    int constraints;
  };
  const Case cases[] = {
      {"3 2 0\n2\n3 1\n2\n", false, false, 0},
      {"3 2 1\n2 7\n3 8 1 7\n2 8\n", false, true, 0},
      {"3 2 001\n2 7\n3 8 1 7\n2 8\n", false, true, 0},
      {"3 2 10\n1 2\n2 3 1\n3 2\n", false, false, 1},
      {"3 2 011 1\n1 2 7\n2 3 8 1 7\n3 2 8\n", false, true, 1},
      {"3 2 100\n10 2\n20 3 1\n30 2\n", true, false, 0},
      {"3 2 101\n10 2 7\n20 3 8 1 7\n30 2 8\n", true, true, 0},
      {"3 2 110\n10 1 2\n20 2 3 1\n30 3 2\n", true, false, 1},
      {"3 2 111 2\n10 1 100 2 7\n20 2 200 3 8 1 7\n30 3 300 2 8\n", true, true, 2},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const GraphFile file = parse_graph(c.text, "g");
    EXPECT_EQ(file.graph.offsets, (std::vector<std::int64_t>{0, 1, 3, 4}));
    EXPECT_EQ(file.graph.adjacent, (std::vector<std::int32_t>{1, 0, 2, 1}));
    EXPECT_EQ(file.constraints, c.constraints);
    const std::vector<std::int64_t> sizes[] = {{}, {10, 20, 30}};
    const std::vector<std::int64_t> edge_weights[] = {{}, {7, 7, 8, 8}};
    EXPECT_EQ(file.vertex_sizes, sizes[c.sizes ? 1 : 0]);
    EXPECT_EQ(file.edge_weights, edge_weights[c.edge_weights ? 1 : 0]);
    const std::vector<std::int64_t> weights[] = {{}, {1, 2, 3}, {1, 100, 2, 200, 3, 300}};
    EXPECT_EQ(file.vertex_weights, weights[c.constraints]);
  }
}

TEST(GraphFile, NothingInIt) {
  const GraphFile file = parse_graph("0 0\n", "g");
  EXPECT_EQ(file.graph.vertices(), 0U);
  EXPECT_EQ(parse_graph("2 0\n\n\n", "g").graph.vertices(), 2U);
}

TEST(GraphFile, ErrorsNameTheLine) {
  EXPECT_EQ(problem(""), "g.graph: no header line 'vertices edges'");
  EXPECT_EQ(problem("% only\n"), "g.graph: no header line 'vertices edges'");
  EXPECT_NE(problem("%c\nx 1\n").find("g.graph:2: the number of vertices 'x'"), std::string::npos);
  EXPECT_NE(problem("3\n").find("g.graph:1: the number of edges ''"), std::string::npos);
  EXPECT_NE(problem("3 2 5\n").find("g.graph:1: the format '5'"), std::string::npos);
  EXPECT_NE(problem("3 2 0011\n").find("the format '0011'"), std::string::npos);
  EXPECT_NE(problem("3 2 0 2\n").find("2 weights a vertex, but"), std::string::npos);
  EXPECT_NE(problem("3 2 10 0\n").find("0 weights a vertex, but"), std::string::npos);
  EXPECT_NE(problem("3 2 10 1 1\n").find("more than four"), std::string::npos);
  EXPECT_NE(problem("3000000000 2\n").find("the number of vertices '3000000000'"), std::string::npos);
  EXPECT_NE(problem("2000000000 2\n1\n").find("do not fit into a file of"), std::string::npos);
  EXPECT_NE(problem("2 1\n2\n3\n").find("g.graph:3: the neighbour '3' must be a whole number from 1 to 2"),
            std::string::npos);
  EXPECT_NE(problem("2 1\n0\n1\n").find("g.graph:2: the neighbour '0'"), std::string::npos);
  EXPECT_NE(problem("2 1\n1.5\n1\n").find("g.graph:2: the neighbour '1.5'"), std::string::npos);
  EXPECT_NE(problem("2 1\n1\n1\n").find("g.graph:2: vertex 1 is its own neighbour"), std::string::npos);
  EXPECT_NE(problem("2 2\n2 2\n1 1\n").find("g.graph:2: vertex 1 lists neighbour 2 twice"), std::string::npos);
  EXPECT_NE(problem("3 2\n2\n1\n1\n").find("g.graph:4: vertex 3 lists 1, which does not list it back"),
            std::string::npos);
  EXPECT_NE(problem("2 1\n2\n").find("g.graph: ends after 1 of 2 vertices"), std::string::npos);
  EXPECT_NE(problem("2 1\n2\n1\n1\n").find("g.graph:4: more lines than the 2 vertices"), std::string::npos);
  EXPECT_EQ(problem("2 1\n2\n1\n\n  \n"), "");
  EXPECT_NE(problem("2 2\n2\n1\n").find("g.graph: 1 edges listed, but the header says 2"), std::string::npos);
  EXPECT_NE(problem("2 1 1\n2 5\n1 6\n").find("g.graph:2: the edge 1 to 2 has another weight"), std::string::npos);
  EXPECT_NE(problem("2 1 1\n2 0\n1 0\n").find("g.graph:2: the edge weight '0'"), std::string::npos);
  EXPECT_NE(problem("2 1 1\n2\n1 3\n").find("g.graph:2: the edge weight ''"), std::string::npos);
  EXPECT_NE(problem("2 1 10\n-1 2\n1 1\n").find("g.graph:2: the vertex weight '-1'"), std::string::npos);
  EXPECT_THROW(read_graph_file("no-such.graph"), support::InputError);
  EXPECT_THROW(read_graph_file("."), support::InputError);
}

}  // namespace
}  // namespace amrbench::partitioners
