#include "partitioners/inputs/sphere_adaptive.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "partitioners/threads.hpp"

namespace amrbench::partitioners {

namespace {

using Triangle = std::array<std::int32_t, 3>;

constexpr double kCosInner = 0.86602540378443865;  // of 30 degrees
constexpr double kCosOuter = 0.64278760968653933;  // of 50 degrees
constexpr double kFinest = 0.25;                   // spacing in the cap

const Vector3& at(const TriangleMesh& mesh, std::int32_t vertex) {
  return mesh.points[static_cast<std::size_t>(vertex)];
}

/// Triangles at each vertex, ascending: of[first[v] .. first[v + 1]).
struct Fans {
  std::vector<std::int64_t> first;
  std::vector<std::int32_t> of;
};
Fans fans_of(const TriangleMesh& mesh) {
  Fans fans;
  fans.first.assign(mesh.points.size() + 1, 0);
  for (const Triangle& t : mesh.triangles)
    for (const std::int32_t v : t) ++fans.first[static_cast<std::size_t>(v) + 1];
  for (std::size_t v = 0; v < mesh.points.size(); ++v) fans.first[v + 1] += fans.first[v];
  fans.of.resize(3 * mesh.triangles.size());
  std::vector<std::int64_t> next(fans.first.begin(), fans.first.end() - 1);
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    for (const std::int32_t v : mesh.triangles[t])
      fans.of[static_cast<std::size_t>(next[static_cast<std::size_t>(v)]++)] = static_cast<std::int32_t>(t);
  return fans;
}

/// A triangle's place of `vertex`.
std::size_t place_of(const Triangle& t, std::int32_t vertex) {
  return t[0] == vertex ? 0 : t[1] == vertex ? 1 : 2;
}

/// The centre of the circle around a triangle, on the sphere.
Vector3 circumcentre(const TriangleMesh& mesh, const Triangle& t) {
  const Vector3& a = at(mesh, t[0]);
  return unit(cross(at(mesh, t[1]) - a, at(mesh, t[2]) - a));
}

double density(const Vector3& at) {
  const double square = adaptive_spacing(at) * adaptive_spacing(at);
  return 1 / (square * square);
}

/// Adds mass times centroid of the triangle a, b, c; its mass is negative where it is clockwise from `out`.
void add_mass(const Vector3& a, const Vector3& b, const Vector3& c, const Vector3& out, Vector3& sum) {
  const Vector3 middle = (1.0 / 3) * (a + b + c);
  const double area = dot(cross(b - a, c - a), out);
  sum = sum + (area * density(unit(middle))) * middle;
}

/// Triangles across edges: across[t][k] lies beyond the edge from vertex k to the next one.
class Flipper {
 public:
  explicit Flipper(TriangleMesh& mesh) : mesh_(mesh), across_(mesh.triangles.size()) {
    const Fans fans = fans_of(mesh);
    for (std::size_t t = 0; t < across_.size(); ++t) {
      for (std::size_t k = 0; k < 3; ++k) {
        const std::int32_t a = mesh.triangles[t][k], b = mesh.triangles[t][(k + 1) % 3];
        for (auto i = fans.first[static_cast<std::size_t>(b)]; i < fans.first[static_cast<std::size_t>(b) + 1]; ++i) {
          const std::int32_t other = fans.of[static_cast<std::size_t>(i)];
          const Triangle& u = mesh.triangles[static_cast<std::size_t>(other)];
          if (u[(place_of(u, b) + 1) % 3] == a) across_[t][k] = other;
        }
      }
    }
  }

  std::size_t run() {
    std::vector<std::pair<std::int32_t, std::int32_t>> stack;  // a triangle and the vertex that begins its edge
    for (std::size_t t = across_.size(); t-- > 0;)
      for (std::size_t k = 0; k < 3; ++k)
        if (mesh_.triangles[t][k] < mesh_.triangles[t][(k + 1) % 3])
          stack.push_back({static_cast<std::int32_t>(t), mesh_.triangles[t][k]});
    std::size_t flips = 0;
    while (!stack.empty()) {
      const auto [t, begin] = stack.back();
      stack.pop_back();
      const Triangle& triangle = mesh_.triangles[static_cast<std::size_t>(t)];
      const std::size_t k = place_of(triangle, begin);
      if (triangle[k] != begin) continue;  // flipped away; what took its place is on the stack
      const std::int32_t u = across_[static_cast<std::size_t>(t)][k];
      if (!wants_flip(t, k, u)) continue;
      flip(t, k, u);
      ++flips;
      for (const std::int32_t changed : {t, u})
        for (const std::int32_t vertex : mesh_.triangles[static_cast<std::size_t>(changed)])
          stack.push_back({changed, vertex});
    }
    return flips;
  }

 private:
  /// The vertex of triangle u that is not on the edge which begins at place k of t.
  [[nodiscard]] std::int32_t opposite(std::int32_t t, std::size_t k, std::int32_t u) const {
    const Triangle& other = mesh_.triangles[static_cast<std::size_t>(u)];
    return other[(place_of(other, mesh_.triangles[static_cast<std::size_t>(t)][k]) + 1) % 3];
  }

  [[nodiscard]] bool wants_flip(std::int32_t t, std::size_t k, std::int32_t u) const {
    constexpr double kSlack = 1e-9;  // of the height that matters: circles through four points may go either way
    const Triangle& triangle = mesh_.triangles[static_cast<std::size_t>(t)];
    const Vector3& a = at(mesh_, triangle[0]);
    const Vector3 out = cross(at(mesh_, triangle[1]) - a, at(mesh_, triangle[2]) - a);
    return dot(out, at(mesh_, opposite(t, k, u)) - a) > kSlack * dot(out, out);
  }

  /// (a, b, c) and (b, a, d) become (a, d, c) and (d, b, c).
  void flip(std::int32_t t, std::size_t k, std::int32_t u) {
    Triangle& one = mesh_.triangles[static_cast<std::size_t>(t)];
    Triangle& two = mesh_.triangles[static_cast<std::size_t>(u)];
    Triangle& beyond_one = across_[static_cast<std::size_t>(t)];
    Triangle& beyond_two = across_[static_cast<std::size_t>(u)];
    const std::int32_t a = one[k], b = one[(k + 1) % 3], c = one[(k + 2) % 3];
    const std::size_t m = place_of(two, b);
    const std::int32_t d = two[(m + 2) % 3];
    const std::int32_t bc = beyond_one[(k + 1) % 3], ca = beyond_one[(k + 2) % 3];
    const std::int32_t ad = beyond_two[(m + 1) % 3], db = beyond_two[(m + 2) % 3];
    one = {a, d, c};
    beyond_one = {ad, u, ca};
    two = {d, b, c};
    beyond_two = {db, bc, t};
    relink(ad, u, t);
    relink(bc, t, u);
  }

  void relink(std::int32_t triangle, std::int32_t from, std::int32_t to) {
    for (std::int32_t& other : across_[static_cast<std::size_t>(triangle)])
      if (other == from) {
        other = to;
        return;
      }
  }

  TriangleMesh& mesh_;
  std::vector<Triangle> across_;
};

bool all_outward(const TriangleMesh& mesh, const std::vector<Vector3>& points, int threads) {
  bool good = true;
#pragma omp parallel for schedule(static) num_threads(team_size(threads)) reduction(&& : good)
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) {
    const auto& [i, j, k] = mesh.triangles[t];
    const Vector3& a = points[static_cast<std::size_t>(i)];
    const Vector3 out = cross(points[static_cast<std::size_t>(j)] - a, points[static_cast<std::size_t>(k)] - a);
    good = good && dot(out, a) > 0;
  }
  return good;
}

/// Threads cost more than they save on few points.
int team_for(const TriangleMesh& mesh, int threads) {
  constexpr std::size_t kFew = 10000;
  return mesh.points.size() < kFew ? 1 : team_size(threads);
}

/// Moves at a level: few points travel far, many only settle.
int moves_at(int level) {
  constexpr int kMoves[] = {0, 300, 300, 300, 100, 40, 20};
  return level < static_cast<int>(std::size(kMoves)) ? kMoves[level] : 10;
}

}  // namespace

double adaptive_spacing(const Vector3& at) {
  const double across = (at[0] + at[2]) * 0.70710678118654752;  // cosine of the distance from the middle
  const double s = std::clamp((across - kCosOuter) / (kCosInner - kCosOuter), 0.0, 1.0);
  return 1 - (1 - kFinest) * (s * s * (3 - 2 * s));
}

std::size_t flip_to_delaunay(TriangleMesh& mesh) {
  return Flipper(mesh).run();
}

double lloyd_move(TriangleMesh& mesh, int threads) {
  const int team = team_for(mesh, threads);
  const Fans fans = fans_of(mesh);
  std::vector<Vector3> centre(mesh.triangles.size()), target(mesh.points.size()), moved(mesh.points.size());
#pragma omp parallel for schedule(static) num_threads(team)
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t) centre[t] = circumcentre(mesh, mesh.triangles[t]);
#pragma omp parallel for schedule(static) num_threads(team)
  for (std::size_t v = 0; v < mesh.points.size(); ++v) {
    const Vector3& p = mesh.points[v];
    Vector3 sum{};
    // A cell is two right triangles a triangle of its fan: the point, the middle of an edge, the circle's centre.
    for (auto i = fans.first[v]; i < fans.first[v + 1]; ++i) {
      const auto t = static_cast<std::size_t>(fans.of[static_cast<std::size_t>(i)]);
      const Triangle& triangle = mesh.triangles[t];
      const std::size_t k = place_of(triangle, static_cast<std::int32_t>(v));
      add_mass(p, unit(p + at(mesh, triangle[(k + 1) % 3])), centre[t], p, sum);
      add_mass(p, centre[t], unit(p + at(mesh, triangle[(k + 2) % 3])), p, sum);
    }
    target[v] = unit(sum);
  }
  double longest = 0;
  for (double step = 1; step > 1e-3; step /= 2) {
    longest = 0;
#pragma omp parallel for schedule(static) num_threads(team) reduction(max : longest)
    for (std::size_t v = 0; v < moved.size(); ++v) {
      moved[v] = unit(mesh.points[v] + step * (target[v] - mesh.points[v]));
      const Vector3 way = moved[v] - mesh.points[v];
      longest = std::max(longest, std::sqrt(dot(way, way)));
    }
    if (!all_outward(mesh, moved, team)) continue;
    mesh.points = std::move(moved);
    return longest;
  }
  return 0;
}

TriangleMesh sphere_adaptive_mesh(int level, int threads) {
  TriangleMesh mesh = icosahedron();
  for (int k = 1; k <= level; ++k) {
    mesh = bisect(mesh, threads);
    flip_to_delaunay(mesh);
    for (int move = 0; move < moves_at(k); ++move) {
      lloyd_move(mesh, threads);
      flip_to_delaunay(mesh);
    }
  }
  return mesh;
}

}  // namespace amrbench::partitioners
