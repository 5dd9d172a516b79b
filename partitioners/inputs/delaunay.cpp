#include "partitioners/inputs/delaunay.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace amrbench::partitioners {

namespace {

__extension__ using Wide = __int128;
using Corners = std::array<std::int32_t, 4>;
constexpr std::int32_t kInfinity = -1;   // a vertex
constexpr std::int32_t kNoElement = -1;  // an element
using Step = std::array<std::int64_t, 3>;

Step step(const LatticePoint& from, const LatticePoint& to) {
  return {to[0] - from[0], to[1] - from[1], to[2] - from[2]};
}
/// |a|, |b|, |c| < 2^20 in each coordinate: below 2^63.
std::int64_t determinant(const Step& a, const Step& b, const Step& c) {
  return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}
std::int64_t square(const Step& a) {
  return a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
}

std::uint64_t spread(std::uint64_t x) {  // 20 bits, two places between them
  x = (x | x << 32) & 0x1f00000000ffffULL;
  x = (x | x << 16) & 0x1f0000ff0000ffULL;
  x = (x | x << 8) & 0x100f00f00f00f00fULL;
  x = (x | x << 4) & 0x10c30c30c30c30c3ULL;
  return (x | x << 2) & 0x1249249249249249ULL;
}
std::uint64_t curve_key(const LatticePoint& p) {
  return spread(static_cast<std::uint64_t>(p[0])) | spread(static_cast<std::uint64_t>(p[1])) << 1 |
         spread(static_cast<std::uint64_t>(p[2])) << 2;
}

/// Rounds of the points by number, the last half of them in the last one; each along the curve.
std::vector<std::int32_t> insertion_order(std::span<const LatticePoint> points) {
  std::vector<std::int32_t> order(points.size());
  std::iota(order.begin(), order.end(), 0);
  constexpr std::size_t kFirstRound = 1000;
  std::size_t end = points.size();
  while (end > 0) {
    const std::size_t begin = end > kFirstRound ? end / 2 : 0;
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end),
              [&](std::int32_t a, std::int32_t b) {
                return std::pair(curve_key(points[static_cast<std::size_t>(a)]), a) <
                       std::pair(curve_key(points[static_cast<std::size_t>(b)]), b);
              });
    end = begin;
  }
  return order;
}

/// The triangulation while it grows. An element that is no more has vertex[0] = kGone and waits in free_.
class Triangulation {
 public:
  explicit Triangulation(std::span<const LatticePoint> points) : points_(points) {
    vertex_.reserve(7 * points.size());
    across_.reserve(7 * points.size());
  }

  /// False where all points lie in a plane.
  bool build() {
    std::vector<std::int32_t> order = insertion_order(points_);
    if (!start(order)) return false;
    for (const std::int32_t p : order) insert(p);
    return true;
  }

  TetraMesh finish() {
    TetraMesh mesh;
    std::vector<std::int32_t> number(vertex_.size(), kNoElement);
    for (std::size_t t = 0; t < vertex_.size(); ++t) {
      if (vertex_[t][0] == kGone || ghost(t)) continue;
      number[t] = static_cast<std::int32_t>(mesh.elements.size());
      mesh.elements.push_back(vertex_[t]);
    }
    for (std::size_t t = 0; t < vertex_.size(); ++t) {
      if (number[t] == kNoElement) continue;
      Corners across;
      for (std::size_t k = 0; k < 4; ++k) across[k] = number[static_cast<std::size_t>(across_[t][k])];
      mesh.neighbours.push_back(across);
    }
    return mesh;
  }

 private:
  static constexpr std::int32_t kGone = -2;
  /// A face of the hole: element and place of its vertex inside, the element beyond, and what is made there.
  struct Face {
    std::int32_t inside, beyond;
    std::size_t place;
  };
  /// An edge of the hole's surface, seen from the new element at one of its sides.
  struct Side {
    std::int32_t low, high, element;
    std::size_t place;
    bool operator<(const Side& o) const { return std::pair(low, high) < std::pair(o.low, o.high); }
  };

  [[nodiscard]] const LatticePoint& point(std::int32_t v) const { return points_[static_cast<std::size_t>(v)]; }
  [[nodiscard]] bool ghost(std::size_t t) const {
    return std::find(vertex_[t].begin(), vertex_[t].end(), kInfinity) != vertex_[t].end();
  }
  /// The orientation with p in the place of vertex k; the three others must be finite.
  [[nodiscard]] std::int64_t seen(const Corners& v, std::size_t k, std::int32_t p) const {
    Corners with = v;
    with[k] = p;
    return orientation(point(with[0]), point(with[1]), point(with[2]), point(with[3]));
  }

  /// Whether p lies inside the element's circumsphere: beyond the hull's face where a vertex is at infinity, or in the
  /// face's plane and in its circle, which is the sphere of the element at its other side.
  [[nodiscard]] bool conflicts(std::int32_t t, std::int32_t p) const {
    const Corners& v = vertex_[static_cast<std::size_t>(t)];
    for (std::size_t k = 0; k < 4; ++k) {
      if (v[k] != kInfinity) continue;
      const std::int64_t side = seen(v, k, p);
      return side > 0 || (side == 0 && conflicts(across_[static_cast<std::size_t>(t)][k], p));
    }
    return in_circumsphere(point(v[0]), point(v[1]), point(v[2]), point(v[3]), point(p));
  }

  std::int32_t make(const Corners& vertices) {
    if (!free_.empty()) {
      const std::int32_t t = free_.back();
      free_.pop_back();
      vertex_[static_cast<std::size_t>(t)] = vertices;
      return t;
    }
    vertex_.push_back(vertices);
    across_.push_back({kNoElement, kNoElement, kNoElement, kNoElement});
    mark_.push_back(0);
    return static_cast<std::int32_t>(vertex_.size() - 1);
  }

  /// The first four points of the order that lie in no plane, and the four elements beyond their faces; takes them out
  /// of the order.
  bool start(std::vector<std::int32_t>& order) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < order.size() && found.size() < 4; ++i)
      if (adds_dimension(order, found, order[i])) found.push_back(i);
    if (found.size() < 4) return false;
    Corners v{};
    for (std::size_t k = 0; k < 4; ++k) v[k] = order[found[k]];
    if (seen(v, 0, v[0]) < 0) std::swap(v[0], v[1]);
    for (std::size_t k = 4; k-- > 0;) order.erase(order.begin() + static_cast<std::ptrdiff_t>(found[k]));
    last_ = make(v);
    std::vector<Side> sides;
    for (std::size_t k = 0; k < 4; ++k) {
      Corners beyond = v;
      beyond[k] = kInfinity;
      std::swap(beyond[(k + 1) % 4], beyond[(k + 2) % 4]);
      const std::int32_t t = make(beyond);
      join(last_, k, t, k);
      for (std::size_t j = 0; j < 4; ++j)
        if (j != k) sides.push_back(side_of(t, k, j));
    }
    join_sides(sides);
    return true;
  }

  [[nodiscard]] bool adds_dimension(const std::vector<std::int32_t>& order, const std::vector<std::size_t>& found,
                                    std::int32_t p) const {
    if (found.empty()) return true;
    const Step to = step(point(order[found[0]]), point(p));
    if (found.size() == 1) return square(to) > 0;
    const Step first = step(point(order[found[0]]), point(order[found[1]]));
    if (found.size() == 2) {
      const Step normal{first[1] * to[2] - first[2] * to[1], first[2] * to[0] - first[0] * to[2],
                        first[0] * to[1] - first[1] * to[0]};
      return normal != Step{0, 0, 0};
    }
    return determinant(first, step(point(order[found[0]]), point(order[found[2]])), to) != 0;
  }

  void join(std::int32_t a, std::size_t ka, std::int32_t b, std::size_t kb) {
    across_[static_cast<std::size_t>(a)][ka] = b;
    across_[static_cast<std::size_t>(b)][kb] = a;
  }

  /// The face of t opposite to vertex j, by its edge without vertex k.
  [[nodiscard]] Side side_of(std::int32_t t, std::size_t k, std::size_t j) const {
    std::int32_t ends[2];
    std::size_t n = 0;
    for (std::size_t i = 0; i < 4; ++i)
      if (i != k && i != j) ends[n++] = vertex_[static_cast<std::size_t>(t)][i];
    return {std::min(ends[0], ends[1]), std::max(ends[0], ends[1]), t, j};
  }
  /// Elements around one vertex meet in pairs.
  void join_sides(std::vector<Side>& sides) {
    std::sort(sides.begin(), sides.end());
    for (std::size_t i = 0; i + 1 < sides.size(); i += 2)
      join(sides[i].element, sides[i].place, sides[i + 1].element, sides[i + 1].place);
  }

  /// The element that holds p, or one beyond the hull's face through which p is seen. Each step goes through a face
  /// that has p at its other side; which of several changes from step to step.
  std::int32_t locate(std::int32_t p) {
    std::int32_t t = last_;
    while (true) {
      const Corners& v = vertex_[static_cast<std::size_t>(t)];
      const auto at_infinity = std::find(v.begin(), v.end(), kInfinity);
      if (at_infinity != v.end()) {
        const auto k = static_cast<std::size_t>(at_infinity - v.begin());
        if (seen(v, k, p) >= 0) return t;
        t = across_[static_cast<std::size_t>(t)][k];
        continue;
      }
      std::size_t out = 4;
      for (std::size_t i = 0; i < 4 && out == 4; ++i) {
        const std::size_t k = (i + turn_) % 4;
        if (seen(v, k, p) < 0) out = k;
      }
      if (out == 4) return t;
      ++turn_;
      t = across_[static_cast<std::size_t>(t)][out];
    }
  }

  /// An element in conflict with p; kNoElement where a point stands there already.
  std::int32_t first_conflict(std::int32_t p) {
    const std::int32_t t = locate(p);
    for (const std::int32_t v : vertex_[static_cast<std::size_t>(t)])
      if (v != kInfinity && point(v) == point(p)) return kNoElement;
    if (conflicts(t, p)) return t;
    // In the plane of a hull's face, outside its circle: another face that p sees.
    for (std::size_t u = 0; u < vertex_.size(); ++u)
      if (vertex_[u][0] != kGone && conflicts(static_cast<std::int32_t>(u), p)) return static_cast<std::int32_t>(u);
    return kNoElement;
  }

  void insert(std::int32_t p) {
    const std::int32_t first = first_conflict(p);
    if (first == kNoElement) return;
    ++round_;
    hole_.assign(1, first);
    faces_.clear();
    mark_[static_cast<std::size_t>(first)] = round_;
    for (std::size_t i = 0; i < hole_.size(); ++i) {
      for (std::size_t k = 0; k < 4; ++k) {
        const std::int32_t u = across_[static_cast<std::size_t>(hole_[i])][k];
        if (mark_[static_cast<std::size_t>(u)] == round_) continue;
        if (conflicts(u, p)) {
          mark_[static_cast<std::size_t>(u)] = round_;
          hole_.push_back(u);
        } else {
          faces_.push_back({hole_[i], u, k});
        }
      }
    }
    fill(p);
    for (const std::int32_t t : hole_) {
      vertex_[static_cast<std::size_t>(t)][0] = kGone;
      free_.push_back(t);
    }
  }

  /// Joins p to the faces of the hole.
  void fill(std::int32_t p) {
    sides_.clear();
    for (const Face& face : faces_) {
      Corners corners = vertex_[static_cast<std::size_t>(face.inside)];
      corners[face.place] = p;
      const std::int32_t t = make(corners);
      Corners& back = across_[static_cast<std::size_t>(face.beyond)];
      const auto from = static_cast<std::size_t>(std::find(back.begin(), back.end(), face.inside) - back.begin());
      join(t, face.place, face.beyond, from);
      for (std::size_t j = 0; j < 4; ++j)
        if (j != face.place) sides_.push_back(side_of(t, face.place, j));
      if (!ghost(static_cast<std::size_t>(t))) last_ = t;
    }
    join_sides(sides_);
  }

  std::span<const LatticePoint> points_;
  std::vector<Corners> vertex_, across_;
  std::vector<std::uint32_t> mark_;
  std::vector<std::int32_t> free_, hole_;
  std::vector<Face> faces_;
  std::vector<Side> sides_;
  std::int32_t last_ = 0;
  std::uint32_t round_ = 0;
  std::size_t turn_ = 0;
};

}  // namespace

std::int64_t orientation(const LatticePoint& a, const LatticePoint& b, const LatticePoint& c, const LatticePoint& d) {
  return determinant(step(a, b), step(a, c), step(a, d));
}

bool in_circumsphere(const LatticePoint& a, const LatticePoint& b, const LatticePoint& c, const LatticePoint& d,
                     const LatticePoint& e) {
  const Step ea = step(e, a), eb = step(e, b), ec = step(e, c), ed = step(e, d);
  const Wide sum = Wide{square(ea)} * determinant(eb, ec, ed) - Wide{square(eb)} * determinant(ea, ec, ed) +
                   Wide{square(ec)} * determinant(ea, eb, ed) - Wide{square(ed)} * determinant(ea, eb, ec);
  return sum > 0;
}

TetraMesh delaunay(std::span<const LatticePoint> points) {
  Triangulation triangulation(points);
  return triangulation.build() ? triangulation.finish() : TetraMesh{};
}

Graph face_graph(std::span<const std::array<std::int32_t, 4>> neighbours) {
  Graph graph;
  graph.offsets.reserve(neighbours.size() + 1);
  graph.adjacent.reserve(4 * neighbours.size());
  for (const Corners& row : neighbours) {
    for (const std::int32_t u : row)
      if (u >= 0) graph.adjacent.push_back(u);
    std::sort(graph.adjacent.begin() + graph.offsets.back(), graph.adjacent.end());
    graph.offsets.push_back(static_cast<std::int64_t>(graph.adjacent.size()));
  }
  return graph;
}

}  // namespace amrbench::partitioners
